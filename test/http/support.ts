/** A network of three ledgers, written by hand, and helpers to ask about it. */
import { afterAll, beforeAll, expect } from 'vitest'
import { type CoreOptions, type CoreRequest, type CoreResponse, createCore, type HttpServer, serve } from '../../adapters/http/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { type Ledger, type LedgerClose, openLedger } from '../../src/index.ts'

/** The rejection of an option. */
export const badOption = (field: string): unknown =>
  expect.objectContaining({ code: 'BAD_REQUEST', fields: expect.objectContaining({ field }) })

export const hashOf = (digit: string): string => digit.repeat(64)
export const BASE = 'http://folio.test'
export const ISSUER = 'GISSUER'
/** An account id with everything that a path or a JSON string could trip over. */
export const ODD = 'ö /?#"\\%&+<x>'

const xdr = { envelope_xdr: 'AAAA', result_xdr: 'AAAA', result_meta_xdr: 'AAAA' }
const transaction = (digit: string, account: string, more: object) => ({
  hash: hashOf(digit),
  account,
  account_sequence: '9007199254740993',
  max_fee: 200,
  fee_paid: 100,
  ...xdr,
  ...more,
})
const ledger = (sequence: number) => ({
  sequence,
  hash: hashOf(String(sequence)),
  ...(sequence > 1 && { prev_hash: hashOf(String(sequence - 1)) }),
  closed_at: `2019-06-01T12:00:0${sequence}Z`,
  total_coins: '100.0000000',
  fee_pool: '0.0000300',
  base_fee_in_stroops: 100,
  base_reserve_in_stroops: 5_000_000,
  max_tx_set_size: 100,
})
const credit = { asset_type: 'credit_alphanum4', asset_code: 'ABC', asset_issuer: ISSUER }
const sided = (side: string, asset: object) => Object.fromEntries(Object.entries(asset).map(([name, value]) => [`${side}_${name}`, value]))

export const closes: LedgerClose[] = [
  {
    ledger: ledger(1),
    transactions: [
      transaction('a', 'GALICE', {
        operations: [
          {
            type: 'create_account',
            account: 'GBOB',
            funder: 'GALICE',
            starting_balance: 20,
            effects: [
              { account: 'GBOB', type: 'account_created', type_i: 0, starting_balance: '20.0000000' },
              { account: 'GALICE', type: 'account_debited', type_i: 3, amount: '20.0000000', asset_type: 'native' },
            ],
          },
          { type: 'payment', sender: 'GALICE', receiver: ODD, asset: { code: 'XLM' }, amount: '9223372036854775807', amount_f: 1.5 },
        ],
      }),
      transaction('f', 'GFAILED', { successful: false, operations: [{ type: 'inflation' }] }),
    ],
  },
  {
    ledger: ledger(2),
    transactions: [
      transaction('b', ODD, {
        operations: [
          {
            type: 'manage_offer',
            trades: [
              {
                offer_id: '7',
                base_offer_id: '7',
                base_account: 'GALICE',
                base_amount: '1.0000000',
                base_asset_type: 'native',
                counter_account: ODD,
                counter_amount: '3.0000000',
                ...sided('counter', credit),
                base_is_seller: true,
                price: { N: 3, D: 1 },
              },
              {
                index: 4,
                base_liquidity_pool_id: 'pool',
                base_amount: '2.0000000',
                base_asset_type: 'native',
                counter_account: 'GBOB',
                counter_amount: '6.0000000',
                ...sided('counter', credit),
                base_is_seller: true,
                price: { n: 3, d: 1 },
              },
            ],
          },
          { type: 'set_options' },
        ],
      }),
    ],
    offers: {
      changed: [
        {
          id: 7,
          seller: 'GALICE',
          selling: { asset_type: 'native' },
          buying: credit,
          amount: '5.0000000',
          price_r: { n: 3, d: 1 },
          price: '3.0000000',
        },
        {
          id: '9223372036854775807',
          seller: ODD,
          selling: credit,
          buying: { asset_type: 'native' },
          amount: '5.0000000',
          price_r: { n: 1, d: 3 },
          price: '0.3333333',
        },
      ],
    },
  },
  { ledger: ledger(3) },
]

/** Operation ids of the network above, by ledger, transaction and operation. */
export const idOf = (sequence: number, tx: number, op: number): string =>
  String((BigInt(sequence) << 32n) | (BigInt(tx) << 12n) | BigInt(op))

export async function smallLedger(count = closes.length): Promise<Ledger> {
  const opened = await openLedger(memory())
  await opened.ingest(closes.slice(0, count))
  return opened
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  /** The body as JSON. Integers past 2^53 are rounded: look at the text for those. */
  readonly body: any
}

export type Ask<T = Answer> = (target: string, headers?: Readonly<Record<string, string>>, request?: Partial<CoreRequest>) => Promise<T>

const named = (headers: readonly string[]): Record<string, string> => {
  const found: Record<string, string> = {}
  for (let i = 0; i < headers.length; i += 2) found[headers[i]!] = headers[i + 1]!
  return found
}

export const answerOf = ({ status, headers: pairs, parts }: CoreResponse): Answer => {
  const headers = named(pairs)
  const text = Buffer.concat(parts).toString()
  return { status, headers, text, body: /json/.test(headers['content-type'] ?? '') && text !== '' ? JSON.parse(text) : undefined }
}

/** Asks a core as a client of {@link BASE} would. */
export const asker = (ledger: Ledger, options: CoreOptions = {}): Ask => askerOf(ledger, options, answerOf)

function askerOf<T>(ledger: Ledger, options: CoreOptions, read: (response: CoreResponse) => T): Ask<T> {
  const core = createCore(ledger, { log: () => {}, ...options })
  return async (target, headers = {}, request = {}) => {
    const all: Record<string, string> = { host: 'folio.test', ...headers }
    return read(await core({ method: 'GET', target, header: (name) => all[name], ...request }))
  }
}

/** What answers are compared by, thousands of times: parsing them would take most of the time. */
export interface Sent {
  readonly tag: string | undefined
  readonly bytes: Buffer
}

/** As {@link asker}. */
export const asksForBytes = (ledger: Ledger, options: CoreOptions = {}): Ask<Sent> =>
  askerOf(ledger, options, ({ headers, parts }) => ({ tag: named(headers)['etag'], bytes: Buffer.concat(parts) }))

/**
 * Checks that each target gives the same bytes as if nothing were kept, and the same entity tag, each time, for two base URLs and two profiles.
 * The texts of the base URL that is asked for most are finished: with this many requests, each has its turn.
 */
export async function expectTheSame(
  ledger: Ledger,
  plain: Ledger,
  targets: readonly string[],
  times: readonly [string, number][],
): Promise<void> {
  const asks = [{}, { profile: 'extended' }] as const
  const [served, wanted] = [asks.map((options) => asksForBytes(ledger, options)), asks.map((options) => asker(plain, options))]
  for (const target of targets) {
    const tags = new Map<string, string | undefined>()
    for (const [host, count] of times)
      for (const [nth, ask] of served.entries()) {
        const { text } = await wanted[nth]!(target, { host })
        const bytes = Buffer.from(text)
        for (let time = 0; time < count; time++) {
          const answer = await ask(target, { host })
          const who = `${nth} ${host}`
          if (!tags.has(who)) tags.set(who, answer.tag)
          const isSame = answer.bytes.equals(bytes) && answer.tag === tags.get(who)
          if (!isSame) expect.fail(`other bytes, or another tag, for ${target} of ${who}, time ${time}`)
        }
      }
    expect(new Set(tags.values()).size, target).toBe(asks.length * new Set(times.map(([host]) => host)).size)
  }
}

export const recordsOf = (answer: Answer): any[] => answer.body._embedded.records
export const tokensOf = (answer: Answer): string[] => recordsOf(answer).map((record) => record.paging_token)

/** Serves the small ledger while the tests of a file run. */
export function whileServed(use: (ledger: Ledger, server: HttpServer) => void): void {
  let ledger: Ledger
  let server: HttpServer
  beforeAll(async () => {
    ledger = await smallLedger()
    server = await serve(ledger, { port: 0, log: () => {} })
    use(ledger, server)
  })
  afterAll(async () => {
    await server.close()
    await ledger.close()
  })
}

/** A request as it goes over the wire. */
export const get = (target: string, more = ''): string => `GET ${target} HTTP/1.1\r\nHost: x.test\r\n${more}\r\n`
