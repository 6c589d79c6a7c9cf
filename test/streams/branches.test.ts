/**
 * Streams of a history that is taken back and goes on as another one, pulled at different speeds: whoever is not told so has been given all that
 * there is, and nothing that is gone.
 */
import { expect, test } from 'vitest'
import { memory } from '../../adapters/memory/index.ts'
import { catalogue, type Ledger, openLedger } from '../../src/index.ts'
import { branchOf } from '../closes.ts'

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}
const list = catalogue.operationsOfAccount
const values = { account: 'GX' }
const tokenOf = (record: object): string => `${(record as any).paging_token} ${(record as any).mark}`

/** A stream that is asked for its next record when it is let go, as often as that is said. */
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

test('one that stands before what was taken back is given the branch that took its place, though others went on meanwhile', async () => {
  const ledger = await openLedger(memory())
  const first = branchOf([10, 20], 1, (sequence) => (sequence === 10 ? ['GX'] : ['GY']))
  await ledger.ingest(first.slice(0, 10))
  const [slowly, quickly] = [follower(ledger), follower(ledger)]
  slowly.letGo(1)
  quickly.letGo(99)
  await turns(5)
  // The quick one goes on to the end of ledger 20 of the first branch.
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
