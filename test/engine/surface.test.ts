/** The public surface, for the record: names, rows, codes, and bytes in existing stores. A change here is a change for users. */
import { createHash, type Hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import { hex } from '../../src/bytes.ts'
import * as folio from '../../src/index.ts'
import { openLedger } from '../../src/index.ts'
import { encodeBlock } from '../../src/layout/encode-block.ts'
import { encodeHash } from '../../src/layout/hash.ts'
import { fingerprint } from '../../src/layout/head.ts'
import {
  blockKey,
  bookKey,
  bookRange,
  bookSellerKey,
  FORMAT,
  HEAD,
  hashKey,
  INTENT,
  postingKey,
  postingPageKey,
} from '../../src/layout/keys.ts'
import { encodeEdge, encodePage, PostingEdge } from '../../src/layout/posting.ts'
import { SEAL_BYTES } from '../../src/layout/seal.ts'
import { indexes, logs } from '../../src/logs.ts'
import { effects } from '../../src/resources/effect.ts'
import { ledgers } from '../../src/resources/ledger.ts'
import { takeApart } from '../../src/text/writer.ts'
import { longCloses } from '../support/closes.ts'

const values = Object.keys(folio).sort()
const source = readFileSync(new URL('../../src/index.ts', import.meta.url), 'utf8')
const names = Array.from(source.matchAll(/\{([^}]*)\}/g), ([, list]) => list!.split(','))
  .flat()
  .map((name) =>
    name
      .trim()
      .replace(/^type /, '')
      .replace(/^\w+ as /, ''),
  )
  .filter(Boolean)
const types = names.filter((name) => !values.includes(name)).sort()

describe('the names exported', () => {
  test('as values are these', () =>
    expect(values.join(' ')).toMatchInlineSnapshot(
      `"DEFAULT_LIMIT Digits FolioError MAX_LIMIT OptionRules Region SLACK after badRequest catalogue checkCloses checkScan closeSchema compare concat copy copyStore crc32 describeStore disposable endOfLedger errorTable fromUtf8 giveWay isAccountCreated isAccountDebited isAccountMerge isCreateAccount isEmptyRange isPathPayment isPayment isPaymentOperation isPromise isSignerCreated isVacant ledgerOf missingIn networkOf newestLedger nextTurn openLedger operationTypes params parseCursor parseJson parseLimit parseOrder pathNames paymentTypes refuseForeign repairStore same stringifyJson utf8 verifyStore writeAscii writeId writeIndexed writeNumber writeText"`,
    ))
  test('as types are these', () =>
    expect(types.join(' ')).toMatchInlineSnapshot(
      `"Account AccountCreated AccountDebited AccountMerge AppendOptions AppendResult Asset Block Capabilities Catalogue Chunk ClosesOf CopyOptions CopyProgress CopyReport CreateAccount Cursor DescribeOptions Effect EffectInput Ended Entry ErrorCode ErrorFields Explanation Fault Filters Finished Finisher HistoryHead Index IngestOptions IngestResult Int64Input Json KeyElement KeyRange Ledger LedgerClose LedgerInput LedgerOptions LedgerRange LedgerRecord List Listing MaybePromise NdjsonChunk NdjsonOptions Offer OfferAsset OfferChanges OfferInput One OpenRecord Operation OperationInput Order Page PageOptions Param ParamTypes PathPayment PathValues Payment PaymentOperation Picked Place Query QueryName RawPage ReadStats RecordName RecordOf RepairOptions RepairReport Resource Rule Rules ScanOptions SignerCreated Slice Snapshot Store StoreDescription StoredSource Stream StreamOptions Subscription Taker Trade TradeFilter TradeInput Transaction TransactionInput UnfitClose ValuesOf VerifyOptions VerifyProgress VerifyReport WalkOptions Write WriteOptions"`,
    ))
})

test('the rows of the catalogue have these paths, indexes, answers if nothing is found, and streams', () => {
  const rows = Object.entries(folio.catalogue).map(([name, row]) =>
    row.kind === 'one'
      ? `${name}: one ${row.of.name} ${row.path}, kept as ${row.of.kept}`
      : [
          `${name}: ${row.of.name}s ${row.path}`,
          row.by && `by ${row.by.name} (${row.by.tag})`,
          row.filters && 'filters',
          row.missing,
          row.live && 'live',
        ]
          .filter(Boolean)
          .join(', '),
  )
  expect(rows).toMatchInlineSnapshot(`
    [
      "account: one account /accounts/{account}, kept as name",
      "ledger: one ledger /ledgers/{ledger}, kept as log",
      "transaction: one transaction /transactions/{hash}, kept as log",
      "operation: one operation /operations/{operation}, kept as log",
      "offer: one offer /offers/{offer}, kept as state",
      "ledgers: ledgers /ledgers, never, live",
      "transactions: transactions /transactions, never, live",
      "operations: operations /operations, never, live",
      "payments: operations /payments, by payment (4), never, live",
      "effects: effects /effects, never, live",
      "trades: trades /trades, filters, never, live",
      "transactionsOfAccount: transactions /accounts/{account}/transactions, by account (1), parent, live",
      "operationsOfAccount: operations /accounts/{account}/operations, by account (3), parent, live",
      "paymentsOfAccount: operations /accounts/{account}/payments, by payment account (5), parent, live",
      "effectsOfAccount: effects /accounts/{account}/effects, by account (6), parent, live",
      "tradesOfAccount: trades /accounts/{account}/trades, by account (7), filters, parent, live",
      "offersOfAccount: offers /accounts/{account}/offers, never, live",
      "tradesOfOffer: trades /offers/{offer}/trades, by offer (8), filters, parent, live",
      "transactionsOfLedger: transactions /ledgers/{ledger}/transactions, parent",
      "operationsOfLedger: operations /ledgers/{ledger}/operations, parent",
      "paymentsOfLedger: operations /ledgers/{ledger}/payments, by payment (4), parent",
      "effectsOfLedger: effects /ledgers/{ledger}/effects, parent",
      "tradesOfLedger: trades /ledgers/{ledger}/trades, filters, parent",
      "operationsOfTransaction: operations /transactions/{hash}/operations, parent",
      "paymentsOfTransaction: operations /transactions/{hash}/payments, by payment (4), parent",
      "effectsOfTransaction: effects /transactions/{hash}/effects, empty",
      "tradesOfTransaction: trades /transactions/{hash}/trades, filters, parent",
      "effectsOfOperation: effects /operations/{operation}/effects, empty",
      "tradesOfOperation: trades /operations/{operation}/trades, filters, parent",
    ]
  `)
})

test('error codes have these statuses', () => {
  const rows = Object.entries(folio.errorTable).map(([code, { status }]) => `${code} ${status}`)
  expect(rows).toMatchInlineSnapshot(`
    [
      "BAD_REQUEST 400",
      "NOT_FOUND 404",
      "GONE_BEFORE_HISTORY 410",
      "MALFORMED_JSON 400",
      "INVALID_INPUT 400",
      "ID_OUT_OF_RANGE 400",
      "LEDGER_GAP 409",
      "LEDGER_FORK 409",
      "PREV_HASH_MISMATCH 409",
      "DUPLICATE_TRANSACTION 409",
      "ROLLED_BACK 503",
      "CLOSED 503",
      "POISONED 503",
      "CONFLICT 503",
      "STORE_LOCKED 503",
      "STORE_DENIED 503",
      "STORE_MISSING 503",
      "STORE_FAILED 503",
      "STORE_FORMAT 500",
      "STORE_CATALOGUE 500",
      "STORE_NETWORK 500",
      "STORE_WENT_BACK 500",
      "STORE_UNREPAIRED 503",
      "STORE_INCOMPLETE 503",
      "STORE_MISUSE 500",
      "CORRUPT 500",
    ]
  `)
})

test('these errors are worth another try', () => {
  const codes = Object.keys(folio.errorTable) as folio.ErrorCode[]
  expect(codes.filter((code) => new folio.FolioError(code).retry)).toEqual([
    'CLOSED',
    'POISONED',
    'CONFLICT',
    'STORE_LOCKED',
    'STORE_FAILED',
  ])
})

test('what is worth another try says whether to wait or to reopen before it', () => {
  const said = (Object.keys(folio.errorTable) as folio.ErrorCode[]).map((code) => new folio.FolioError(code))
  const of = (recovery: folio.FolioError['recovery']) => said.filter((error) => error.recovery === recovery)
  expect(of('wait').map(({ code }) => code)).toEqual(['STORE_LOCKED', 'STORE_FAILED'])
  expect(of('reopen').map(({ code }) => code)).toEqual(['CLOSED', 'POISONED', 'CONFLICT'])
  for (const error of said)
    expect([error.code, 'retry' in folio.errorTable[error.code]]).toEqual([error.code, error.recovery !== undefined])
})

test('an error says its sentence and fields, and whether to retry', () => {
  const error = new folio.FolioError('LEDGER_GAP', { sequence: 9, expected: 7, none: undefined })
  expect(`${error}`).toBe(`FolioError: ${folio.errorTable.LEDGER_GAP.sentence} (sequence: 9, expected: 7)`)
  expect(error).toMatchObject({ status: 409, retry: false })
})

test('the fingerprint of a store lists logs with block sizes and columns, and indexes with tags', () => {
  expect(fingerprint(logs, indexes).split('; ')).toMatchInlineSnapshot(`
    [
      "1=ledger/3(ends top_offer filed)",
      "2=transaction/2(account participants hash)",
      "3=operation/4(transaction created_at source participants type_i)",
      "4=effect/5(created_at account)",
      "5=trade/3(base_account counter_account base_asset counter_asset)",
      "6=failed transaction/2(account participants hash)",
      "7=offer change/4(seller id ledger created_at)",
      "1=account of transaction",
      "2=account of failed transaction",
      "3=account of operation",
      "4=payment of operation",
      "5=payment account of operation",
      "6=account of effect",
      "7=account of trade",
      "8=offer of trade",
      "9=pair of trade",
      "10=offer of offer change",
      "11=seller of offer change",
    ]
  `)
  for (const tagged of [logs, indexes]) expect(new Set(tagged.map(({ tag }) => tag)).size).toBe(tagged.length)
})

describe('bytes of keys', () => {
  test.each<[string, Uint8Array, string]>([
    ['head', HEAD, '00'],
    ['format', FORMAT, '01'],
    ['intent', INTENT, '02'],
    ['block', blockKey(3, 2 ** 40 + 5), '1003010000000005'],
    ['posting list', postingKey(5, ['GA']), '200502474100'],
    ['posting list of a partial index', postingKey(4, []), '2004'],
    ['posting list of a pair', postingKey(9, ['a', 'native']), '200902610002' + '6e617469766500'],
    ['posting list of an offer', postingKey(8, [7n]), '2008150000000000000007'],
    ['page of a posting list', postingPageKey(5, ['GA'], 1, 258), '21050247410001000000000102'],
    ['hash', hashKey('aB'.repeat(32)), `30${'ab'.repeat(32)}`],
    ['offer of the book', bookKey('GA', 7n), '4002474100150000000000000007'],
    ['seller of an offer', bookSellerKey(2n ** 63n - 1n), '41157fffffffffffffff'],
    ['end of a seller in the book', bookRange('GA', 0n, 2n ** 63n).lt, '4002474100158000000000000000'],
  ])('%s', (_, key, bytes) => {
    expect(hex(key)).toBe(bytes)
  })
})

describe('bytes of values', () => {
  test('a block of two effects', () => {
    const rows = [
      { hi: 1, lo: 4097, index: 1, texts: [takeApart('"a":1')], sides: ['2019-06-01T12:00:00Z', 'GA'], exact: false },
      { hi: 1, lo: 4097, index: 2, texts: [takeApart('"b":"é"')], sides: ['2019-06-01T12:00:00Z', 'GB'], exact: false },
    ]
    expect(hex(encodeBlock(blockKey(4, 0), effects, rows))).toMatchInlineSnapshot(
      `"0200020003000202010000000100000001100000011000000100000002000000004001000500080002000500000001000000020014001600180005000c00323031392d30362d30315431323a30303a30305a474147422261223a002262223a220022013102c3a90249bfb01e"`,
    )
  })

  test('a block of a ledger with numbers that need care', () => {
    const rows = [{ hi: 5, lo: 0, index: 0, texts: [takeApart('"n":1.50')], sides: ['0,1', '9', '0'], exact: true }]
    expect(hex(encodeBlock(blockKey(1, 0), ledgers, rows))).toMatchInlineSnapshot(
      `"0100010003000003050000000000000000c0080005000000010002000300040005000300302c3139300d0b0004312e353002419a6fdc"`,
    )
  })

  test('a posting list of three, of 130, and a page of it', () => {
    const key = postingKey(5, ['GA'])
    const pages: string[] = []
    const count = (to: number) => Array.from({ length: to }, (_, n) => 3 * n)
    const short = PostingEdge.empty.append([0, 5, 300], () => {})
    expect(hex(encodeEdge(key, short))).toMatchInlineSnapshot(`"03030005a702027118e749"`)
    const list = PostingEdge.empty.append(count(130), (level, page, entries) =>
      pages.push(`${level} ${page} ${hex(encodePage(key, entries).slice(0, -SEAL_BYTES))}`),
    )
    expect(hex(encodeEdge(key, list))).toMatchInlineSnapshot(`"8201028003030100028c8d2b5f"`)
    expect(pages).toEqual([`0 0 00${'03'.repeat(127)}`])
  })

  test('a hash entry', () => {
    const key = hashKey('00'.repeat(32))
    expect(hex(encodeHash(key, { ordinal: 300, failed: true }))).toMatchInlineSnapshot(`"d90402e7b83e9a"`)
  })
})

test('whole stores hold these bytes: with other ones goes another FORMAT_VERSION, or an older store is taken for a damaged one', async () => {
  const disk = memoryDisk()
  const ledger = await openLedger(memory(disk), { fileEvery: 150, network: 'surface' })
  await ledger.ingest([...longCloses(100, 7), ...longCloses(107, 3)])
  await ledger.rollback(108)
  await ledger.prune(103)
  const kinds = new Map<string, { entries: number; sum: Hash }>()
  const { entries } = await memory(disk).scan({ gte: new Uint8Array(0), lt: Uint8Array.of(0xff) }, { limit: 1e6 })
  for (const [key, value] of entries) {
    const kind = hex(key.subarray(0, 1))
    const { entries, sum } = kinds.get(kind) ?? { entries: 0, sum: createHash('sha256') }
    kinds.set(kind, { entries: entries + 1, sum: sum.update(key).update(value) })
  }
  await ledger.close()
  expect(Array.from(kinds, ([kind, { entries, sum }]) => `${kind}: ${entries}, ${sum.digest('hex').slice(0, 16)}`)).toMatchInlineSnapshot(`
    [
      "00: 1, 68d51a11ce38c5da",
      "01: 1, 04c84869e4935871",
      "03: 1, ae63f0dba8ec1dea",
      "10: 39, 05913c84e1e945b1",
      "20: 21, 7153484cccf93b44",
      "21: 1, 56f012ccdf517a89",
      "30: 18, 9873557576cae0f5",
      "40: 1, 1e4e51a51c2b6150",
      "41: 1, ff8747367617fbb0",
      "42: 2, 6b2688c568c23de9",
      "50: 6, 9d2cfb93fbd86293",
    ]
  `)
})
