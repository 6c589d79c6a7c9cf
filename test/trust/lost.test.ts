/**
 * Records that are lost while they wait to be filed: nothing tells which lists they belong to. The store opens even so: whatever is asked, the answer
 * is that of the undamaged twin, or CORRUPT, and nothing is written upon it.
 */
import { expect, test } from 'vitest'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import { slowStore } from '../../adapters/testing/slow-store.ts'
import { catalogue, FolioError, type Ledger, type List, openLedger, type Store } from '../../src/index.ts'
import { encodeIntent } from '../../src/layout/head.ts'
import { blockKey, INTENT } from '../../src/layout/keys.ts'
import { blockNumber } from '../../src/layout/ordinals.ts'
import type { Resource } from '../../src/query.ts'
import { ledgers } from '../../src/resources/ledger.ts'
import { offerChanges } from '../../src/resources/offer.ts'
import { operations } from '../../src/resources/operation.ts'
import { failedTransactions } from '../../src/resources/transaction.ts'
import { longCloses } from '../support/closes.ts'
import { dump, hex, shared } from '../support/dump.ts'
import { errorOf } from '../support/errors.ts'
import { answer, type Question, questionOf, questionsOf, said } from '../support/questions.ts'
import { askedOnce } from '../support/twin.ts'
import { blocksOf, crowdedCloses, diskOf, entriesOf, type Kind } from './support.ts'

const FIRST = 100
const closes = longCloses(FIRST, 12)
const [held, next] = [closes.slice(0, 11), closes[11]!]
const crowded = crowdedCloses(FIRST, 20)

const kinds: Readonly<Record<string, Kind>> = {
  'nothing is filed': { closes: held, fileEvery: 1e6 },
  'half is filed': { closes: held, fileEvery: 400 },
  'all is filed': { closes: held, fileEvery: 1 },
  'some is pruned': { closes: held, fileEvery: 400, oldest: FIRST + 5 },
  'many have a share': { closes: crowded, fileEvery: 300 },
}

const broken = (value: Uint8Array): Uint8Array => value.map((byte, at) => (at === 2 ? byte ^ 1 : byte))
/** The store, which finds by itself that it cannot read a value, as LevelDB does of a part of a file: whatever asks for it, among others, fails. */
function failingAt(store: Store, lost: Uint8Array): Store {
  const fail = async (): Promise<never> => {
    throw new FolioError('CORRUPT', { key: hex(lost), reason: 'a part of a file' })
  }
  const isLost = (key: Uint8Array): boolean => hex(key) === hex(lost)
  const get: Store['get'] = (key) => (isLost(key) ? fail() : store.get(key))
  const getMany: Store['getMany'] = (keys) => (keys.some(isLost) ? fail() : store.getMany(keys))
  return Object.assign(Object.create(store) as Store, { get, getMany, capabilities: { ...store.capabilities, sync: false } })
}

const wraps: readonly ((store: Store, lost: Uint8Array) => Store)[] = [(store) => store, (store) => slowStore(store), failingAt]

/** Of what no ledger names: only a record that is lost might. */
const unknown: readonly Question[] = [
  ...(['account', 'transactionsOfAccount', 'paymentsOfAccount', 'effectsOfAccount', 'tradesOfAccount', 'offersOfAccount'] as const).map(
    (name) => questionOf(name, { account: 'GNOBODY' }),
  ),
  questionOf('tradesOfOffer', { offer: 999_999n }),
]

/** Trades of pairs, and of pairs and an account at once: these are in two lists. */
async function pairsOf(twin: Ledger): Promise<Question[]> {
  const questions = new Map<string, Question>()
  for (const { base, counter, ...trade } of await tradesOf(twin))
    for (const values of [
      { base, counter },
      { base: counter, counter: base },
    ]) {
      const asked = [questionOf('trades', values), questionOf('tradesOfAccount', { ...values, account: trade.account })]
      for (const question of asked) questions.set(question.name, question)
    }
  return [...questions.values()]
}

async function tradesOf(ledger: Ledger) {
  const found = []
  for await (const trade of ledger.records(catalogue.trades, {})) {
    const assetOf = (side: 'base' | 'counter') => {
      const { [`${side}_asset_type`]: type, [`${side}_asset_code`]: code, [`${side}_asset_issuer`]: issuer } = trade as any
      return type === 'native' ? { type } : { type, code, issuer }
    }
    found.push({ base: assetOf('base'), counter: assetOf('counter'), account: trade.base_account })
  }
  return found
}

test.each(Object.entries(kinds))('a lost block of records, wherever it is, keeps nothing else from being read (%s)', async (_, kind) => {
  const entries = await entriesOf(kind)
  const twin = await openLedger(memory(diskOf(entries)))
  const questions = [...questionsOf(kind.closes), ...(await pairsOf(twin)), ...unknown]
  const orders = ['asc', 'desc'] as const
  let unwritable = 0
  for (const [at, [key, value]] of blocksOf(entries).entries()) {
    const disk = diskOf(entries, [[key, at % 2 === 0 ? undefined : broken(value)]])
    const before = await dump(memory(disk))
    const ledger = await openLedger(wraps[at % wraps.length]!(memory(disk), key))
    let lost = 0
    for (const question of questions)
      for (const order of orders) {
        const expected = await askedOnce(twin, question.name + order, () => answer(twin, question, order))
        const found = await answer(ledger, question, order)
        if (found === 'CORRUPT') lost++
        else expect([hex(key), question.name, found]).toEqual([hex(key), question.name, expected])
      }
    // No listing names failed transactions, nor changes of offers.
    if (![failedTransactions.tag, offerChanges.tag].includes(key[1]!)) expect([hex(key), lost > 0]).toEqual([hex(key), true])
    if (ledger.poisoned) {
      unwritable++
      const { last } = ledger.head!
      for (const write of [
        () => ledger.append(next),
        () => ledger.ingest([next]),
        () => ledger.rollback(last - 1),
        () => ledger.prune(last),
      ])
        expect(await errorOf(write)).toMatchObject({ code: 'CORRUPT', fields: { key: hex(key) } })
    }
    await ledger.close()
    expect(await dump(memory(disk))).toEqual(before)
  }
  expect(unwritable).toBeGreaterThan(0)
})

const blockOf = (resource: Resource, count: number): Uint8Array => blockKey(resource.tag, blockNumber(resource, count - 1))

test('the newest ledger may be among what is lost, also if a note tells its hash', async () => {
  const disk = memoryDisk()
  let noted = new Uint8Array(0)
  const note: NonNullable<Store['note']> = {
    read: () => noted,
    async write(bytes) {
      noted = Uint8Array.from(bytes)
    },
  }
  const open = () => openLedger(Object.assign(memory(disk), { note }))
  const ledger = await open()
  await ledger.ingest(held)
  await ledger.close()
  disk.write([[blockOf(ledgers, held.length), undefined]])
  const lost = await open()
  const { sequence, hash } = held.at(-1)!.ledger
  expect([noted.length > 0, lost.poisoned, lost.head]).toMatchObject([true, true, { last: sequence, hash: hash.toLowerCase() }])
  expect((await errorOf(() => lost.get(catalogue.ledger, { ledger: sequence }))).code).toBe('CORRUPT')
  expect((await lost.get(catalogue.ledger, { ledger: FIRST }))!.sequence).toBe(FIRST)
})

test('a rollback that was not finished is finished by an open after the repair, not by one that cannot write', async () => {
  const kind = kinds['half is filed']!
  const entries = await entriesOf(kind)
  const [block, value] = blocksOf(entries).findLast(([key]) => key[1] === operations.tag)!
  const disk = diskOf(entries, [[block, undefined]])
  disk.write([[INTENT, encodeIntent({ rollback: FIRST + 2 })]])
  const lost = await openLedger(memory(disk))
  expect([lost.poisoned, lost.head!.last]).toEqual([true, FIRST + held.length - 1])
  expect((await errorOf(() => lost.append(next))).code).toBe('CORRUPT')
  await lost.close()
  disk.write([[block, value]])
  const mended = await openLedger(memory(disk))
  expect([mended.poisoned, mended.head!.last]).toEqual([false, FIRST + 2])
})

test('a record that was lost once is in no list of this process, even if it can be read again', async () => {
  const entries = await entriesOf(kinds['nothing is filed']!)
  const block = blockKey(operations.tag, 1)
  const store = memory(diskOf(entries))
  const failing = failingAt(store, block)
  let isLost = true
  const get: Store['get'] = (key) => (isLost ? failing : store).get(key)
  const getMany: Store['getMany'] = (keys) => (isLost ? failing : store).getMany(keys)
  const ledger = await openLedger({ ...slowStore(store), get, getMany })
  isLost = false
  const asked = async (account: string, order: 'asc' | 'desc') => answer(ledger, questionOf('operationsOfAccount', { account }), order)
  for (const account of ['GALICE', 'GNOBODY'])
    expect([await asked(account, 'asc'), await asked(account, 'desc')]).toEqual(['CORRUPT', 'CORRUPT'])
  expect((await ledger.page(catalogue.operations, {}, { limit: 40 })).records).toHaveLength(40)
})

test('a page that ends before what is lost is given however often it is asked for: its neighbours are not gathered', async () => {
  const entries = await entriesOf(kinds['many have a share']!)
  const accounts = new Set(crowded.flatMap(({ transactions = [] }) => transactions.map(({ account }) => account)))
  /** Enough for what is on a page to be worth gathering. */
  const often = 40
  let before = 0
  for (const query of [catalogue.operationsOfAccount, catalogue.effectsOfAccount] as List[]) {
    const [newest] = blocksOf(entries).findLast(([key]) => key[1] === query.of.tag)!
    const ledger = await openLedger(memory(diskOf(entries, [[newest, undefined]])))
    expect(ledger.poisoned).toBe(true)
    for (const account of accounts)
      for (let cursor: string | undefined = ''; cursor !== undefined; ) {
        const page = () => ledger.page(query, { account }, { cursor, limit: 20 })
        const first = await page().catch(() => undefined)
        for (let time = 0; first && time < often; time++) expect(said(await page())).toBe(said(first))
        if (first) before++
        cursor = first?.next
      }
  }
  expect(before).toBeGreaterThan(0)
})

test('a process that follows another one passes over what is lost, until that is mended', async () => {
  const disk = memoryDisk()
  const open = () => openLedger(shared(memory(disk)), { pollMs: 2 ** 30 })
  const [writer, reader] = [await open(), await open()]
  await writer.ingest(closes.slice(0, 6))
  expect([await reader.refresh(), reader.poisoned]).toEqual([true, false])
  await writer.append(closes[6]!)
  const block = blockOf(operations, 1)
  const value = memory(disk).get(block) as Uint8Array
  disk.write([[block, undefined]])
  const late = await open()
  const listed = async (ledger: Ledger) => answer(ledger, questionOf('operationsOfAccount', { account: 'GALICE' }))
  expect([late.poisoned, await listed(late)]).toEqual([true, 'CORRUPT'])
  await writer.append(closes[7]!)
  for (const ledger of [late, reader]) await ledger.refresh()
  expect([late.poisoned, late.head!.last, reader.poisoned, reader.head!.last]).toEqual([true, FIRST + 7, false, FIRST + 7])
  expect(await listed(late)).toBe('CORRUPT')
  expect((await errorOf(() => late.append(closes[8]!))).code).toBe('CORRUPT')
  disk.write([[block, value]])
  await writer.append(closes[8]!)
  for (const ledger of [late, reader]) await ledger.refresh()
  expect([late.poisoned, await listed(late)]).toEqual([false, await listed(writer)])
  expect((await late.append(closes[9]!)).appended).toBe(true)
})

test('what cannot be written upon keeps a prune that was not finished, whatever is called', async () => {
  const entries = await entriesOf(kinds['half is filed']!)
  const [block] = blocksOf(entries).findLast(([key]) => key[1] === operations.tag)!
  const disk = diskOf(entries, [[block, undefined]])
  disk.write([[INTENT, encodeIntent({ prune: FIRST + 2 })]])
  const before = await dump(memory(disk))
  const lost = await openLedger(memory(disk))
  for (const call of [() => lost.rollback(FIRST + 9), () => lost.prune(FIRST + 3), () => lost.append(next), () => lost.ingest([next])])
    expect((await errorOf(call)).code).toBe('CORRUPT')
  await lost.close()
  expect(await dump(memory(disk))).toEqual(before)
})
