/**
 * Streams of a history that is rolled back and goes on as another branch, pulled at different speeds: a stream that is not told of a rollback
 * has delivered everything there is, and nothing that is gone.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memory } from '../../adapters/memory/index.ts'
import { catalogue, type Ledger, type LedgerClose, openLedger } from '../../src/index.ts'
import { branchOf } from '../support/closes.ts'
import { holds } from '../support/property.ts'
import { turns } from '../support/turns.ts'

const list = catalogue.operationsOfAccount
const values = { account: 'GX' }
const tokenOf = (record: object): string => `${(record as any).paging_token} ${(record as any).mark}`

/** A stream that is pulled as often as `letGo` allows. */
function follower(ledger: Ledger) {
  const stream = ledger.stream(list, values)
  const given: string[] = []
  let open = 0
  let ended: string | undefined
  let wake = (): void => {}
  const letGo = (more: number): void => {
    open += more
    wake()
  }
  void (async () => {
    try {
      for (;;) {
        while (open-- <= 0) {
          open = 0
          await new Promise<void>((resolve) => (wake = resolve))
        }
        const { value, done } = await stream.next()
        if (done) return
        given.push(tokenOf(value))
      }
    } catch (error) {
      ended = (error as { code: string }).code
    }
  })()
  return { given, letGo, code: () => ended }
}

const all = async (ledger: Ledger): Promise<string[]> => {
  const found: string[] = []
  for await (const record of ledger.records(list, values)) found.push(tokenOf(record))
  return found
}

test('a stream before what was rolled back delivers the branch that took its place, even if others went on meanwhile', async () => {
  const ledger = await openLedger(memory(), { cacheBytes: 0 })
  const first = branchOf([10, 20], 1, (sequence) => (sequence === 10 ? ['GX'] : ['GY']))
  await ledger.ingest(first.slice(0, 10))
  const [slowly, quickly] = [follower(ledger), follower(ledger)]
  slowly.letGo(1)
  quickly.letGo(99)
  await turns(5)
  // The quick follower goes on to the end of ledger 20 of the first branch.
  await ledger.append(first[10]!)
  await turns(5)
  await ledger.rollback(15)
  const second = branchOf(
    [16, 23],
    2,
    (sequence) => (sequence === 17 || sequence === 22 ? ['GX'] : ['GY']),
    first[5]!.ledger.hash as string,
  )
  for (const close of second.slice(0, 5)) {
    await ledger.append(close)
    await turns(5)
  }
  slowly.letGo(99)
  await turns(5)
  for (const close of second.slice(5)) await ledger.append(close)
  await turns(5)
  const wanted = await all(ledger)
  expect(wanted.map((token) => Number(BigInt(token.split(' ')[0]!) >> 32n))).toEqual([10, 17, 22])
  expect([quickly.given, slowly.given, quickly.code(), slowly.code()]).toEqual([wanted, wanted, undefined, undefined])
  await ledger.close()
})

const FIRST = 10
/** What happens to a history and its followers, step by step. */
type Happening =
  /** That many ledgers follow, each as a step of its own. */
  | { readonly append: number }
  /** That many ledgers are rolled back, and as many, plus `more`, of another branch take their place. */
  | { readonly back: number; readonly more: number }
  /** Each of these followers may take that many records. */
  | { readonly let: readonly number[]; readonly take: number }

const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ append: fc.integer({ min: 1, max: 2 }) }) },
  { weight: 3, arbitrary: fc.record({ back: fc.integer({ min: 1, max: 6 }), more: fc.constantFrom(-1, 0, 0, 0, 0, 0, 1) }) },
  { weight: 4, arbitrary: fc.record({ let: fc.subarray([0, 1, 2], { minLength: 1 }), take: fc.constantFrom(1, 99, 99) }) },
)

/** What is wrong with what the followers were given. */
async function faultsOf(happenings: readonly Happening[], sparse: number): Promise<string[]> {
  const ledger = await openLedger(memory(), { cacheBytes: 0 })
  const held: LedgerClose[] = []
  let branch = 0
  const append = async (): Promise<void> => {
    const sequence = FIRST + held.length
    // Which account a ledger names depends on its branch.
    const names = sequence === FIRST || (Math.imul(sequence * 31 + branch, 0x9e3779b1) >>> 16) % sparse === 0
    const previous = held.at(-1)?.ledger.hash as string | undefined
    const [close] = branchOf([sequence, sequence], branch, () => [names ? 'GX' : 'GY'], previous)
    await ledger.append(close!)
    held.push(close!)
    await turns(1)
  }
  const back = async (count: number): Promise<void> => {
    held.splice(Math.max(1, held.length - count))
    branch++
    lowest.push(FIRST + held.length - 1)
    await ledger.rollback(lowest.at(-1)!)
  }
  const lowest: number[] = []
  for (let n = 0; n < 4; n++) await append()
  const followers = Array.from({ length: 3 }, () => follower(ledger))
  // After this, all have been given the same page.
  for (const { letGo } of followers) letGo(1)
  await turns(1)
  for (const what of happenings) {
    if ('append' in what) for (let n = 0; n < what.append; n++) await append()
    else if ('back' in what) {
      await back(what.back)
      for (let n = 0; n < what.back + what.more; n++) await append()
    } else for (const n of what.let) followers[n]!.letGo(what.take)
    await turns(1)
  }
  for (const { letGo } of followers) letGo(1000)
  // Each long turn, on a machine that is busy, puts off what it would do to the next one.
  await turns(20)
  for (let n = 0; n < 3; n++) await append()
  await turns(20)
  const wanted = await all(ledger)
  const ledgerOf = (token: string): number => Number(BigInt(token.split(' ')[0]!) >> 32n)
  const faults: string[] = []
  for (const [n, { given, code }] of followers.entries()) {
    const ended = code()
    if (ended === undefined && given.join() !== wanted.join()) faults.push(`${n} was given ${given}, and there is ${wanted}`)
    if (ended !== undefined && ended !== 'ROLLED_BACK') faults.push(`${n} ended with ${ended}`)
    // Only a rollback below what it was given may end it.
    const reached = Math.max(0, ...given.map(ledgerOf))
    if (ended === 'ROLLED_BACK' && !lowest.some((last) => last < reached))
      faults.push(`${n} was told of a rollback that it has not reached`)
  }
  await ledger.close()
  return faults
}

test('streams of any branches, pulled in any order, deliver everything or end with ROLLED_BACK', async () => {
  const plan = fc.array(happening, { minLength: 3, maxLength: 6 })
  await holds(fc.tuple(plan, fc.integer({ min: 2, max: 6 })), 1000, async ([happenings, sparse]) => {
    expect(await faultsOf(happenings, sparse)).toEqual([])
  })
})
