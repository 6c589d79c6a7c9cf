/**
 * Closes that are not plain objects. A check reads members by name, whether they are inherited or not, and a text is written of what JSON shows: of
 * an instance of a class, these would be different records. So such a close is what its JSON text would say.
 */
import { asJson, Digits, isOfNoClass } from '../json.ts'

/** The members that hold records, and those of these. */
type Records = ReadonlyMap<string, Records>
const none: Records = new Map()
const records = (members: Readonly<Record<string, Records>>): Records => new Map(Object.entries(members))
const close = records({
  ledger: none,
  transactions: records({ operations: records({ effects: none, trades: none }) }),
  offers: records({ changed: none }),
})

/** A close as it is checked, filed and written. @throws if it is not plain, and there can be no text of it */
export function plainClose(given: unknown): unknown {
  let plain = true
  try {
    plain = isPlain(given, close)
  } catch {
    // A member throws when it is read: whoever reads it next says where it is.
  }
  return plain ? given : asJson(given)
}

/** Whether a record, or what stands in its place, and what it holds are what their JSON text says. */
function isPlain(given: unknown, held: Records): boolean {
  if (typeof given !== 'object' || given === null) return true
  if (!isOfNoClass(given)) return false
  for (const name in given) {
    const value: unknown = (given as Record<string, unknown>)[name]
    // One called `toJSON` would be asked for the text.
    if (typeof value === 'function') return false
    if (typeof value !== 'object' || value === null || value instanceof Digits) continue
    const inner = held.get(name)
    if (inner === undefined ? !isValue(value) : !areRecords(value, inner)) return false
  }
  return true
}

function areRecords(value: object, held: Records): boolean {
  if (!Array.isArray(value)) return isPlain(value, held)
  return isOfNoClass(value) && value.every((record) => isPlain(record, held))
}

/** Of what lies deeper within a value, only a text is made. */
const isValue = (value: object & { toJSON?: unknown }): boolean => isOfNoClass(value) && typeof value.toJSON !== 'function'
