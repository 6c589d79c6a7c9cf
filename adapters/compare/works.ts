/** The requests with which stores are compared: drawn from what a ledger holds, the same ones for every store. */
import { catalogue, type Ledger, type List, type PageOptions } from '../../src/index.ts'

export interface Draw {
  readonly query: List
  readonly values: Readonly<Record<string, unknown>>
  readonly options: PageOptions
}

/** What requests are drawn from. */
export interface Sample {
  readonly oldest: number
  readonly last: number
  /** As often as they act: busy accounts occur more than once. */
  readonly accounts: readonly string[]
}

export interface Work {
  readonly name: string
  readonly query: List
  readonly ofAccount?: boolean
}

export const works: readonly Work[] = [
  { name: 'transactions', query: catalogue.transactions },
  { name: 'operations', query: catalogue.operations },
  { name: 'effects', query: catalogue.effects },
  { name: 'trades', query: catalogue.trades },
  { name: 'transactions of an account', query: catalogue.transactionsOfAccount, ofAccount: true },
  { name: 'operations of an account', query: catalogue.operationsOfAccount, ofAccount: true },
  { name: 'effects of an account', query: catalogue.effectsOfAccount, ofAccount: true },
]

const SAMPLED = 40

/** Undefined if there are no transactions. */
export async function sampleOf(ledger: Ledger): Promise<Sample | undefined> {
  const { head } = ledger
  if (!head) return undefined
  const accounts: string[] = []
  for (let nth = 0; nth < SAMPLED; nth++) {
    const { records } = await ledger.page(catalogue.transactions, {}, { cursor: cursorAt(head, nth), limit: 20 })
    accounts.push(...records.map(({ account }) => account))
  }
  return accounts.length === 0 ? undefined : { oldest: head.oldest, last: head.last, accounts }
}

/** Low-discrepancy places: any number of them covers history evenly. */
const place = (nth: number): number => (nth * 0.618034) % 1

const cursorAt = ({ oldest, last }: { readonly oldest: number; readonly last: number }, nth: number): string =>
  String(BigInt(Math.floor(oldest + place(nth) * (last - oldest))) << 32n)

export type Limit = 10 | 200

/** How many requests there are, which are asked over and over. */
const REQUESTS = { 10: 30, 200: 12 } as const

export const drawn = (work: Work, sample: Sample, limit: Limit): readonly Draw[] =>
  Array.from({ length: REQUESTS[limit] }, (_, nth) => draw(work, sample, limit, nth))

/** Requests of each list, in turn, as a service is asked: few enough that a slow store gets through them in a measurement. */
export function mixed(sample: Sample, limit: Limit): readonly Draw[] {
  const all = works.map((work) => drawn(work, sample, limit))
  return Array.from({ length: OF_EACH }, (_, nth) => all.map((list) => list[nth]!)).flat()
}

const OF_EACH = 12

function draw({ query, ofAccount = false }: Work, sample: Sample, limit: Limit, nth: number): Draw {
  const values = ofAccount ? { account: sample.accounts[Math.floor(place(3 * nth + 1) * sample.accounts.length)]! } : {}
  return { query, values, options: { cursor: cursorAt(sample, nth), limit, order: nth % 2 === 0 ? 'asc' : 'desc' } }
}
