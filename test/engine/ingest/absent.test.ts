/** Members of a close that are undefined count as absent. */
import { expect, test } from 'vitest'
import { memory, memoryDisk } from '../../../adapters/memory/index.ts'
import { richClose } from '../../../adapters/testing/invalid-closes.ts'
import { closeSchema, type LedgerClose, openLedger } from '../../../src/index.ts'
import { dump } from '../../support/dump.ts'

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly required?: readonly string[]
}

/** The value with every member that it lacks and may lack; `seen` learns which those are. */
function sparse(value: any, { properties, items, required = [] }: Schema, path: string, seen: Set<string>): unknown {
  if (Array.isArray(value)) return value.map((one) => sparse(one, items ?? {}, `${path}[]`, seen))
  if (!properties || typeof value !== 'object') return value
  const whole: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value)) whole[name] = sparse(member, properties[name] ?? {}, `${path}.${name}`, seen)
  for (const name of Object.keys(properties)) {
    if (name in value || required.includes(name)) continue
    seen.add(`${path}.${name}`)
    whole[name] = undefined
  }
  return { ...whole, unknown: undefined }
}

test('a close with undefined members is stored as the same one without', async () => {
  const seen = new Set<string>()
  const rich = richClose(100, '')
  const poor = { ledger: { ...rich.ledger, sequence: 101, hash: 'ab'.repeat(32), prev_hash: rich.ledger.hash } }
  const [disk, other] = [memoryDisk(), memoryDisk()]
  const [ledger, twin] = [await openLedger(memory(disk)), await openLedger(memory(other))]
  for (const close of [rich, poor]) {
    await ledger.append(close)
    const { unknown: _, ...same } = sparse(close, closeSchema as Schema, '', seen) as { unknown: undefined }
    await twin.append(same as unknown as LedgerClose)
  }
  expect(seen.size).toBeGreaterThan(20)
  expect(await dump(memory(other))).toEqual(await dump(memory(disk)))
})
