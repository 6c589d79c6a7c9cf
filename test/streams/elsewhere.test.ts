/**
 * Streams of one process while another appends and rolls back: whoever is told how far history went back, and goes on from there, has in the end what
 * there is, nothing of it twice, and reads nothing again that was never rolled back.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import { slowStore } from '../../adapters/testing/slow-store.ts'
import { hasCode } from '../../src/errors.ts'
import { catalogue, type Ledger, type LedgerClose, openLedger } from '../../src/index.ts'
import { endOfLedger } from '../../src/position.ts'
import { branchOf } from '../support/closes.ts'
import { shared } from '../support/dump.ts'
import { holds } from '../support/property.ts'
import { turns } from '../support/turns.ts'

const FIRST = 10
const ledgerOf = (token: string): number => Number(BigInt(token.split(' ')[0]!) >> 32n)
const tokenOf = ({ paging_token, mark }: any): string => `${paging_token} ${mark}`

/** Follows the operations, and goes on where it is told to after a rollback. */
function follow(ledger: Ledger, cursor: string) {
  const given: string[] = []
  const told: number[] = []
  let failure: unknown
  const run = async (from: string): Promise<void> => {
    try {
      for await (const record of ledger.stream(catalogue.operations, {}, { cursor: from })) given.push(tokenOf(record))
    } catch (error) {
      if (!hasCode(error, 'ROLLED_BACK')) throw error
      const last = error.fields['last'] as number
      told.push(last)
      while (given.length > 0 && ledgerOf(given.at(-1)!) > last) given.pop()
      return run(last === 0 ? '' : endOfLedger(last))
    }
  }
  run(cursor).catch((error) => (failure = error))
  return { given, told, from: cursor === 'now' ? ledger.head!.last : 0, failed: () => failure }
}

/** One step of the other process, of the network, or of this process. */
type Happening =
  | { readonly append: number }
  | { readonly back: number }
  | { readonly prune: number }
  | { readonly look: number }
  | { readonly follow: 'now' | '' }
  | { readonly wait: number }

const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ append: fc.integer({ min: 1, max: 6 }) }) },
  { weight: 3, arbitrary: fc.record({ back: fc.integer({ min: 1, max: 9 }) }) },
  { weight: 1, arbitrary: fc.record({ prune: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 4, arbitrary: fc.record({ look: fc.nat(3) }) },
  { weight: 2, arbitrary: fc.record({ follow: fc.constantFrom('now', '') }) },
  { weight: 2, arbitrary: fc.record({ wait: fc.integer({ min: 1, max: 12 }) }) },
)

async function check(happenings: readonly Happening[], sparse: number, fileEvery: number, isLate: boolean): Promise<void> {
  const disk = memoryDisk()
  // Steps of the other process take turns, so that this one comes between any two of them.
  const open = (later?: () => Promise<void>) =>
    openLedger(shared(slowStore(memory(disk), later)), { pollMs: 2 ** 30, cacheBytes: 0, fileEvery })
  const [writer, reader] = [await open(turns), await open(isLate ? turns : undefined)]
  const held: LedgerClose[] = []
  let branch = 0
  let oldest = FIRST
  const extend = (count: number): LedgerClose[] => {
    const at = FIRST + held.length
    const names = (sequence: number): string[] => ((Math.imul(sequence * 31 + branch, 0x9e3779b1) >>> 16) % sparse === 0 ? ['GX'] : [])
    const closes = branchOf([at, at + count - 1], branch, names, held.at(-1)?.ledger.hash as string | undefined)
    held.push(...closes)
    return closes
  }
  // What the other process does follows one thing after another, and this one looks at any time.
  let work: Promise<unknown> = writer.ingest(extend(12))
  await work
  await reader.refresh()
  const targets = [0]
  const followers = [follow(reader, ''), follow(reader, 'now')]
  const looks: Promise<unknown>[] = []
  for (const what of happenings) {
    if ('append' in what) {
      const closes = extend(what.append)
      work = work.then(() => writer.ingest(closes))
    } else if ('back' in what) {
      held.splice(Math.max(1 + oldest - FIRST, held.length - what.back))
      branch++
      const target = FIRST + held.length - 1
      targets.push(target)
      work = work.then(() => writer.rollback(target))
    } else if ('prune' in what) {
      oldest = Math.min(oldest + what.prune, FIRST + held.length - 1)
      const before = oldest
      work = work.then(() => writer.prune(before))
    } else if ('look' in what) {
      await turns(what.look)
      looks.push(reader.refresh())
    } else if ('follow' in what) followers.push(follow(reader, what.follow))
    else await turns(what.wait)
  }
  await work
  await writer.ingest(extend(3))
  await Promise.all(looks)
  await reader.refresh()
  await turns(60)
  const wanted: string[] = []
  for await (const record of reader.records(catalogue.operations, {})) wanted.push(tokenOf(record))
  for (const { given: all, told, from, failed } of followers) {
    const given = all.filter((token) => ledgerOf(token) >= oldest)
    // A stream that had not come to what was pruned says so.
    if (failed() !== undefined) {
      expect(failed()).toMatchObject({ code: 'GONE_BEFORE_HISTORY' })
      expect(oldest).toBeGreaterThan(FIRST)
      continue
    }
    expect(given).toEqual(wanted.slice(wanted.length - given.length))
    const floor = Math.min(from, ...told)
    expect(given).toEqual(expect.arrayContaining(wanted.filter((token) => ledgerOf(token) > floor)))
    for (const last of told) expect(targets.slice(1)).toContain(last)
  }
  await reader.close()
  await writer.close()
}

test('streams that go on where a rollback elsewhere has left off give what there is', async () => {
  const plan = fc.array(happening, { minLength: 3, maxLength: 14 })
  await holds(fc.tuple(plan, fc.integer({ min: 1, max: 6 }), fc.constantFrom(1, 3, 100), fc.boolean()), 400, (tried) => check(...tried))
})
