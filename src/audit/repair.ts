/**
 * Rebuilds what follows from other values: posting lists, hash entries, the book, digests, the head. An audit names what is at fault; each fault is
 * repaired from the records, or removed if nothing asks for it; and the audit is run again, until nothing more can be done.
 * What is left then cannot be saved from this store: records, which may be given (`refill.ts`), and what only pruned ledgers told; nor, while such
 * records are lost, lists that may name them. **Invariant:** nothing that may lack what cannot be read is served as whole.
 * **Invariant:** while a repair is in progress the store holds its intent, so that it is not opened for anything else; a repair that is run again
 * continues. The intent also names an unfinished rollback or pruning, which is unfinished again when the repair is done: the next open finishes it.
 */
import { equal, hex, unhex } from '../bytes.ts'
import { OptionRules } from '../check.ts'
import { readHighWater } from '../ingest/high-water.ts'
import { catalogueOf } from '../ingest/identity.ts'
import { type Change, encodeFormat, encodeHighWater, encodeIntent, kindOf, networkStill } from '../layout/head.ts'
import { baseKey, FORMAT, HEAD, HIGH_WATER, INTENT, indexKey, KIND, kindOfKey, PRUNED, postingKey, readOffer } from '../layout/keys.ts'
import { isSealed, unsealed } from '../layout/seal.ts'
import { changesByOffer } from '../resources/offer.ts'
import { checkStore, type Store, type Write } from '../store.ts'
import { begun, commit, cutOf, repairing, write } from './commit.ts'
import { type Context, readable } from './context.ts'
import { cutBefore } from './cut-before.ts'
import { listOf } from './lists.ts'
import { rebuildBases, rebuildBlock, rebuildBook, rebuildDigest, rebuildHashes, rebuildPruned, type Unsure } from './rebuild.ts'
import { rebuildHead } from './rebuild-head.ts'
import { rebuildLists } from './rebuild-lists.ts'
import { type ClosesOf, Given, type UnfitClose } from './refill.ts'
import {
  type Fault,
  FORGOTTEN,
  NO_BASE,
  STRAY,
  UNCOUNTED,
  UNNAMED,
  UNSURE,
  UNTOLD,
  type VerifyOptions,
  type VerifyReport,
  verifyOptions,
} from './report.ts'
import { audit } from './verify.ts'

export interface RepairOptions extends VerifyOptions {
  /**
   * Give up the first ledger that cannot be saved and all after it, so that they can be ingested again; everything, if that is the oldest. Without
   * it they stay, and reads of what is damaged keep failing with CORRUPT.
   */
  readonly cut?: boolean | undefined
  /**
   * Gives closes of ledgers of which records are lost, from a copy or an export: called at most once, with the first and the last of these ledgers. It
   * may lack some, and give others, which are passed over. A close is used if its digest is the one that was stored when its ledger was appended.
   * @example (lost) => backup.closes(lost)
   */
  readonly closes?: ClosesOf | undefined
}

export interface RepairReport {
  /** How many values were rebuilt or removed. */
  readonly repaired: number
  /** What could not be saved. */
  readonly lost: readonly Fault[]
  /** Closes that were given and are not those that were appended, or cannot be shown to be. */
  readonly unfit?: readonly UnfitClose[]
  /** The newest ledger after history was cut, 0 if none is left; those after it have to be ingested again. */
  readonly cutAfter?: number
  /**
   * The audit at the end. What the store once held and has lost is no longer expected; a rollback or pruning is left to the next open. The repair
   * itself is unfinished if the head could not be saved: the store is not opened before a repair with `cut`.
   */
  readonly after: VerifyReport
}

const repairOptions = new OptionRules<RepairOptions>('repair', { cut: 'flag', closes: 'callback', ...verifyOptions.rules })

/** Mending one fault may expose others, as a head exposes the ledgers; more rounds than this expose nothing new. */
const ROUNDS = 8

/**
 * Repairs a store that nobody else writes to. Processes that share and only read it are told of what is cut as of a rollback.
 * @param options `maxFaults` has no meaning here: everything that is lost is listed
 * @throws BAD_REQUEST if an option is unknown or wrong, STORE_MISUSE if `store` is not a store, STORE_FORMAT, STORE_CATALOGUE, STORE_INCOMPLETE, CLOSED,
 * STORE_FAILED, and the reason of the signal; CONFLICT if another process writes to it, and then nothing of that is touched; and what `closes` throws,
 * once all else that can be repaired is
 */
export async function repairStore(store: Store, options: RepairOptions = {}): Promise<RepairReport> {
  const { cut = false, closes, ...told } = repairOptions.check(options)
  checkStore(store)
  const all = { ...told, maxFaults: Number.POSITIVE_INFINITY }
  const named = new Map<string, Fault>()
  const gone = new Map<string, Fault>()
  /** What was not rebuilt in the last round, since it may tell of records that cannot be read. */
  const unsure: Unsure = new Map()
  /** The keys of the last changes of offers that the book alone was seen to show: a round may remove these before one finds what was forgotten. */
  const inBookAlone = new Set<string>()
  const given = closes && new Given(closes, told.signal)
  let cutAfter: number | undefined
  let { report, context } = await audit(store, all)
  for (let round = 0; round < ROUNDS && !report.ok; round++) {
    for (const fault of report.faults) named.set(fault.key, fault)
    // A fault of the note is about what lies beside the store; a value within the store under that key is a stray.
    const within = (await store.get(HIGH_WATER)) !== undefined
    unsure.clear()
    let changed = await mend(
      context,
      report.faults.filter(({ key }) => within || key !== hex(HIGH_WATER)),
      { gone, unsure, inBookAlone },
    )
    if (!changed && given) changed = await commit(context, await given.refill(context))
    // What was not given may still be: nothing is given up over an error.
    if (!changed && cut && given?.error === undefined) {
      const last = await cutBefore(context)
      changed = last !== undefined
      cutAfter = last ?? cutAfter
    }
    if (!changed) changed = await closeOff(context, unsure)
    if (!changed) break
    ;({ report, context } = await audit(store, { ...all, onFault: () => {} }))
  }
  const left = leftToDo(context, report, cutAfter)
  await write(context, [[INTENT, left && encodeIntent(left)]])
  const isNoted = (await readable(async () => [await readHighWater(store.note)])) !== undefined
  await store.note?.write(encodeHighWater({ last: report.last ?? 0 }))
  // Of a note that could not be read nothing is lost, and where history was cut already says what was given up on purpose.
  const faults = besideNote(report.faults)
  if (given?.error !== undefined) throw given.error
  const stays = isNoted && cutAfter === undefined ? report.faults : faults
  const listed = stays.map((fault) => (isUnsure(fault, unsure) ? { ...fault, reason: UNSURE } : fault))
  const ledgersListed = new Set(listed.map(({ ledger }) => ledger))
  const ofLedgers = [...context.findings.ledgers.values()].filter(({ ledger }) => !ledgersListed.has(ledger))
  const lost = [...new Map([...gone, ...listed.map((fault) => [fault.key, fault] as const)]).values(), ...ofLedgers]
  const keysLost = new Set(lost.map(({ key }) => key))
  const repaired = [...named.keys()].filter((key) => !keysLost.has(key)).length
  const { unfinished: _, ...last } = report
  const after = { ...last, ok: faults.length === 0, faults, faultCount: faults.length, ...(left && { unfinished: kindOf(left) }) }
  const unfit = given?.unfit ?? []
  return { repaired, lost, ...(unfit.length > 0 && { unfit }), ...(cutAfter !== undefined && { cutAfter }), after }
}

/** The faults of all but the note, which is new. */
const besideNote = (faults: readonly Fault[]): readonly Fault[] => faults.filter(({ key }) => key !== hex(HIGH_WATER))

/**
 * The intent with which a repair ends. Where the head is still at fault, ledgers above it are lost, and what else is there names their records: what is
 * appended would take their places. So the repair stays in progress, until it is told to cut them off.
 */
function leftToDo(context: Context, { last = 0, faults }: VerifyReport, cutAfter: number | undefined): Change | undefined {
  // Where nothing is left, nothing is left to do.
  if (cutAfter === 0) return undefined
  if (faults.some(({ key }) => key === hex(HEAD))) return repairing(context)
  const cut = cutOf(context)
  // A repair may leave less history than there was; pruning always leaves its newest ledger.
  return cut && 'prune' in cut ? { prune: Math.min(cut.prune, last) } : cut
}

/** What is remembered from round to round. */
interface Found {
  readonly gone: Map<string, Fault>
  readonly unsure: Unsure
  readonly inBookAlone: Set<string>
}

/** @returns whether anything was written */
async function mend(context: Context, faults: readonly Fault[], { gone, unsure, inBookAlone }: Found): Promise<boolean> {
  const forgotten = faults.filter(({ reason }) => reason === FORGOTTEN)
  for (const fault of forgotten) gone.set(fault.key, fault)
  for (const fault of faults) if (fault.key === hex(INTENT)) gone.set(fault.key, { ...fault, reason: UNTOLD })
  const strays = faults.filter((fault) => isStray(fault)).map(({ key }) => unhex(key))
  const keys = faults.filter((fault) => !forgotten.includes(fault) && !isStray(fault)).map(({ key }) => unhex(key))
  const of = (...kinds: number[]): Uint8Array[] => keys.filter((key) => kinds.includes(kindOfKey(key)))
  const parts: (readonly Write[])[] = []
  // Also if all else is given up: a damaged format by itself looks like that of another release.
  if (of(kindOfKey(FORMAT)).length > 0) {
    const { network, known } = networkStill(await context.store.get(FORMAT), catalogueOf())
    if (!known) gone.set(hex(FORMAT), { key: hex(FORMAT), reason: UNNAMED })
    parts.push([[FORMAT, encodeFormat(catalogueOf(), network)]])
  }
  if (keys.some((key) => equal(key, HEAD))) {
    // Without the head nothing else can be judged. If it agrees with the ledgers and is still wrong, ledgers that it counts are lost.
    parts.push(await rebuildHead(context))
    return commit(context, parts.flat())
  }
  for (const key of of(KIND.block)) parts.push(await rebuildBlock(context, key))
  const lists = of(KIND.edge, KIND.page)
  if (lists.length > 0) parts.push(await rebuildLists(context, lists, unsure))
  for (const key of await unchanged(context, of(KIND.book, KIND.seller, KIND.base))) inBookAlone.add(hex(key))
  if (forgotten.some(({ key }) => key === hex(indexKey(changesByOffer.tag))))
    for (const key of inBookAlone) gone.set(key, { key, reason: NO_BASE })
  const uncounted = of(kindOfKey(PRUNED)).length > 0
  if (uncounted && lists.length > 0) gone.set(hex(PRUNED), { key: hex(PRUNED), reason: UNCOUNTED })
  // What a list names is counted once all lists are whole.
  if ((uncounted || forgotten.length > 0) && lists.length === 0) parts.push(rebuildPruned(context))
  if (of(KIND.hash).length > 0) parts.push(await rebuildHashes(context, of(KIND.hash), unsure))
  if (of(KIND.book, KIND.seller).length > 0) parts.push(await rebuildBook(context))
  // The last change of an offer is judged by the list of its changes, so it is looked at once that list is whole.
  if (lists.length === 0) parts.push(await rebuildBases(context, of(KIND.base)))
  for (const key of of(KIND.digest)) parts.push(await rebuildDigest(context, key))
  // This intent replaces one that cannot be read.
  parts.push(strays.map((key) => (equal(key, INTENT) ? begun(context) : [key, undefined])))
  return commit(context, parts.flat())
}

/** Of offers that the book shows and nothing else, the keys under which their last changes were kept. */
async function unchanged({ book, store }: Context, keys: readonly Uint8Array[]): Promise<Uint8Array[]> {
  const found: Uint8Array[] = []
  for (const key of keys) {
    const id = readOffer(key)
    if (id === undefined || book.has(String(id))) continue
    const listKey = postingKey(changesByOffer.tag, [id])
    const list = await store.get(listKey)
    if (list === undefined || !isSealed(listKey, list)) found.push(baseKey(id))
  }
  return found
}

/**
 * What may lack records, and can be read, is made unreadable: a list whose edge is gone would be read as empty, and an older one as whole. One with
 * a damaged page can only be read beside that.
 */
async function closeOff(context: Context, unsure: Unsure): Promise<boolean> {
  const writes: Write[] = []
  for (const key of unsure.values()) {
    if (!context.findings.isNamed(key)) continue
    const value = await context.store.get(key)
    const isRead = value === undefined || isSealed(key, value)
    if (isRead) writes.push([key, unsealed])
  }
  return commit(context, writes)
}

/** True for what was left as it is, a page of a list included. */
function isUnsure({ key }: Fault, unsure: Unsure): boolean {
  if (unsure.size === 0) return false
  const list = [KIND.edge, KIND.page].some((kind) => kind === kindOfKey(unhex(key))) ? listOf(unhex(key)) : undefined
  return unsure.has(list ? hex(list.key) : key)
}

/** Kinds of keys: those of keys that are only that byte, and all of them. */
const whole = new Set([HEAD, FORMAT, INTENT, PRUNED].map(kindOfKey))
const known = new Set([...whole, ...Object.values(KIND)])

/** A value whose seal is broken may be a stray too, if no key of its kind looks like its key. */
function isStray({ key, reason }: Fault): boolean {
  const bytes = unhex(key)
  const kind = kindOfKey(bytes)
  return reason === STRAY || !known.has(kind) || (whole.has(kind) && bytes.length > 1) || kind === kindOfKey(INTENT)
}
