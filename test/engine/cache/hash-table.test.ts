/** The table of where transactions lie by hash: what it learns, what gives way, and that every guess is checked. */
import { expect, test } from 'vitest'
import { memory } from '../../../adapters/memory/index.ts'
import { Hashes } from '../../../src/cache/hash-table.ts'
import { catalogue, openLedger } from '../../../src/index.ts'
import { transactions } from '../../../src/resources/transaction.ts'
import { closes } from '../../http/support.ts'
import { blockOf, row } from '../layout/support.ts'

/** A hash of 64 digits for each `n`; the first sixteen differ. */
const hashOf = (n: number): string =>
  (n * 0x9e3779b1).toString(16).padStart(16, '0').slice(-16).split('').reverse().join('').padEnd(64, 'ab')

test('the table finds what was added, however long history is', () => {
  const hashes = new Hashes(2 ** 16)
  expect(hashes.get(hashOf(1))).toBeUndefined()
  for (const [n, ordinal] of [0, 5, 2 ** 31, 2 ** 40].entries()) hashes.add(hashOf(n), { log: n % 2 ? 6 : 2, ordinal })
  for (const [n, ordinal] of [0, 5, 2 ** 31, 2 ** 40].entries()) expect(hashes.get(hashOf(n))).toEqual({ log: n % 2 ? 6 : 2, ordinal })
  hashes.add(hashOf(1), { log: 2, ordinal: 7 })
  expect([hashes.get(hashOf(1)), hashes.get(hashOf(9))]).toEqual([{ log: 2, ordinal: 7 }, undefined])
  hashes.clear()
  expect(hashes.get(hashOf(1))).toBeUndefined()
})

test('the table has a fixed size: older entries give way', () => {
  const hashes = new Hashes(1024)
  for (let n = 0; n < 1000; n++) hashes.add(hashOf(n), { log: 2, ordinal: n })
  const held = Array.from({ length: 1000 }, (_, n) => n).filter((n) => hashes.get(hashOf(n)) !== undefined)
  expect(held.length).toBe(64)
  for (const n of held) expect(hashes.get(hashOf(n))!.ordinal).toBe(n)
  const none = new Hashes(63)
  none.add(hashOf(1), { log: 2, ordinal: 1 })
  expect(none.get(hashOf(1))).toBeUndefined()
})

test('the table is small at first, and grows before anything gives way', () => {
  const hashes = new Hashes(2 ** 25)
  const bytes = (): number => (hashes as unknown as { table: Int32Array }).table.byteLength
  const sizes = new Set([bytes()])
  for (let n = 0; n < 40_000; n++) {
    hashes.add(hashOf(n), { log: n % 2 ? 6 : 2, ordinal: n })
    sizes.add(bytes())
    if (n % 1000 === 0) for (let k = n; k >= 0; k -= 500) expect(hashes.get(hashOf(k))).toEqual({ log: k % 2 ? 6 : 2, ordinal: k })
  }
  for (let n = 0; n < 40_000; n++) expect(hashes.get(hashOf(n))?.ordinal).toBe(n)
  expect([...sizes]).toEqual([0, 2 ** 16, 2 ** 19, 2 ** 22])
  expect(hashes.maxBytes).toBe(2 ** 25)
})

test('a table that has grown is filled little by little, and what came later stays', () => {
  const hashes = new Hashes(2 ** 25)
  const { older } = hashes as unknown as { older: Int32Array }
  const isFilled = (): boolean => (hashes as unknown as { older: Int32Array }).older === older
  let [n, grown] = [0, 0]
  const add = (ordinal: number, of = n++): void => hashes.add(hashOf(of), { log: 2, ordinal })
  const places: number[] = []
  while (n < 60_000) {
    const before = n
    while (isFilled() && n < 60_000) add(n)
    if (n === 60_000) break
    grown++
    // The same transactions in other places: what is moved afterwards is older.
    for (let k = 0; k < before; k += 97) add(k + 1, k)
    for (let k = 0; k < before; k++) expect(hashes.get(hashOf(k))?.ordinal).toBe(k % 97 === 0 ? k + 1 : k)
    const first = n
    while (!isFilled()) add(n)
    places.push(n - first)
    for (let k = 0; k < before; k++) expect(hashes.get(hashOf(k))?.ordinal).toBe(k % 97 === 0 ? k + 1 : k)
    for (let k = 0; k < before; k += 97) add(k, k)
  }
  expect(grown).toBe(2)
  expect(places.every((added, at) => added > 100 * 8 ** at)).toBe(true)
})

test('the table learns from blocks of transactions', () => {
  const hashes = new Hashes(2 ** 16)
  const block = blockOf(
    transactions,
    [hashOf(1), hashOf(2), 'short'].map((hash, at) => row(7, at, 0, ['GA', '', hash], '"x":1')),
  )
  hashes.learn(transactions, 5, block)
  expect([hashes.get(hashOf(1)), hashes.get(hashOf(2)), hashes.get('0'.repeat(64))]).toEqual([
    { log: 2, ordinal: 20 },
    { log: 2, ordinal: 21 },
    undefined,
  ])
})

test('two hashes that begin alike are told apart', async () => {
  const ledger = await openLedger(memory())
  const [one, other] = ['0123456789abcdef'.padEnd(64, '1'), '0123456789abcdef'.padEnd(64, '2')]
  const [first] = closes
  const transaction = first!.transactions![0]
  await ledger.append({ ...first!, transactions: [one, other].map((hash) => ({ ...transaction!, hash })) })
  for (let n = 0; n < 3; n++) for (const hash of [one, other]) expect((await ledger.get(catalogue.transaction, { hash }))?.hash).toBe(hash)
  expect(await ledger.get(catalogue.transaction, { hash: one.replace(/.$/, '3') })).toBeUndefined()
  await ledger.close()
})
