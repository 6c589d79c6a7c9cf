/**
 * The options of a generated network, their defaults, and the shapes that it yields: ledger closes of open records.
 */
import { badRequest, type OfferAsset, OptionRules, type TradeInput } from '../../src/index.ts'

export interface GenerateOptions {
  /** How many ledgers to close, 0 or more. */
  readonly ledgers: number
  /** The same seed and options give the same ledgers, byte for byte. */
  readonly seed: number | string
  /** Sequence of the first ledger. Default 2,100,000: there operation ids and young accounts' sequences pass 2^53. */
  readonly firstLedger?: number | undefined
  /** Id of the first offer, 1 to 2^62; a bigint beyond 2^53. Default 51,829; ids count up from here. */
  readonly firstOffer?: number | bigint | undefined
  /** Close of the first ledger, whole seconds since 1970; the others follow 5 s apart, up to the year 9999. Default 1,541,030,400 (2018-11-01T00:00:00Z). */
  readonly startTime?: number | undefined
  /** Mean transactions in a ledger, spread evenly from 0 to twice that; besides, one ledger in 40 is empty. 0 to 500,000. Default 20. */
  readonly transactionsPerLedger?: number | undefined
  /** Mean operations in a transaction (geometric, 1 to 100), 1 to 50. Default 1.3. */
  readonly operationsPerTransaction?: number | undefined
  /** Accounts that exist before the first ledger, at least 16. They act by Zipf's law; create_account adds, account_merge removes. Default 10,000. */
  readonly accounts?: number | undefined
  /** Issued assets beside the native one, 1 to 1,000. Default 40. */
  readonly assets?: number | undefined
  /** Most offers in the book at once, 0 or more. Default 1,000. */
  readonly offers?: number | undefined
  /** Mean size of a transaction's three XDR members together, before base64. Default 580, which makes a transaction about 1.2 KB of JSON without its operations. */
  readonly envelopeBytes?: number | undefined
  /** Share of transactions that fail, 0 to 1. Default 0.15. */
  readonly failedShare?: number | undefined
  /** Share of operations that go out to trade, 0 to 1. Default 0.15. */
  readonly tradeShare?: number | undefined
}

/** What the options are if they are not given. */
export const generateDefaults = {
  firstLedger: 2_100_000,
  firstOffer: 51_829,
  startTime: 1_541_030_400,
  transactionsPerLedger: 20,
  operationsPerTransaction: 1.3,
  accounts: 10_000,
  assets: 40,
  offers: 1_000,
  envelopeBytes: 580,
  failedShare: 0.15,
  tradeShare: 0.15,
} satisfies Omit<GenerateOptions, 'ledgers' | 'seed'>

export type Settings = { readonly [N in keyof GenerateOptions]-?: NonNullable<GenerateOptions[N]> }

const LAST_LEDGER = 2 ** 31 - 1
/** The last second of the year 9999: a close time has a year of four digits. */
const LAST_SECOND = 253_402_300_799

const LAST_OFFER = 2n ** 62n
const anyOffer = {
  expected: `a whole number from 1 to ${LAST_OFFER}`,
  fits: (value: unknown) => typeof value === 'bigint' && value >= 1n && value <= LAST_OFFER,
}

const whole = (least: number, most: number) => ({ least, most, whole: true })

/** The last ledgers and closes that fit depend on how many ledgers there are. */
function rulesFor({ ledgers: given, firstOffer }: GenerateOptions): OptionRules<GenerateOptions> {
  const ledgers = typeof given === 'number' ? given : 0
  return new OptionRules<GenerateOptions>('generate', {
    ledgers: { needed: whole(0, LAST_LEDGER - 1) },
    seed: { needed: { expected: 'a number or a text', fits: (value) => ['number', 'string'].includes(typeof value) } },
    firstLedger: whole(1, LAST_LEDGER - ledgers),
    firstOffer: typeof firstOffer === 'bigint' ? anyOffer : whole(1, Number.MAX_SAFE_INTEGER),
    startTime: whole(0, LAST_SECOND - 5 * ledgers),
    transactionsPerLedger: { least: 0, most: 500_000 },
    operationsPerTransaction: { least: 1, most: 50 },
    accounts: whole(16, 2 ** 24),
    assets: whole(1, 1_000),
    offers: whole(0, 2 ** 24),
    envelopeBytes: { least: 0, most: 2 ** 24 },
    failedShare: { least: 0, most: 1 },
    tradeShare: { least: 0, most: 1 },
  })
}

/** The options with their defaults. @throws BAD_REQUEST naming one that is unknown, missing or out of range */
export function settle(options: GenerateOptions): Settings {
  if (typeof options !== 'object' || options === null) throw badRequest('options', 'an object')
  return { ...generateDefaults, ...(rulesFor(options).check(options) as Pick<Settings, 'ledgers' | 'seed'>) }
}

/** A number if it is exact, a bigint beyond 2^53. */
export type Integer = number | bigint

/** An open record: members in the order in which they are written. */
export type GeneratedMembers = { [name: string]: unknown }

export interface GeneratedLedger extends GeneratedMembers {
  hash: string
  prev_hash: string
  sequence: number
  closed_at: string
  total_coins: string
  fee_pool: string
  base_fee_in_stroops: number
  base_reserve_in_stroops: number
  max_tx_set_size: number
}

export type GeneratedTrade = GeneratedMembers & TradeInput

export interface GeneratedOperation extends GeneratedMembers {
  type: string
  type_i?: number
  source_account?: string
  participants?: string[]
  effects?: (GeneratedMembers & { account: string; type: string; type_i: number; index?: number })[]
  trades?: GeneratedTrade[]
}

export interface GeneratedTransaction extends GeneratedMembers {
  hash: string
  successful?: boolean
  account: string
  account_sequence: Integer
  max_fee: number
  fee_paid: number
  envelope_xdr: string
  result_xdr: string
  result_meta_xdr: string
  participants?: string[]
  operations: GeneratedOperation[]
}

export interface GeneratedOffer extends GeneratedMembers {
  id: Integer
  seller: string
  selling: OfferAsset
  buying: OfferAsset
  amount: string
  price_r: { n: number; d: number }
  price: string
  last_modified: string
}

/** One ledger close, as the write API takes it. `offers` is absent if none changed. */
export interface GeneratedClose {
  ledger: GeneratedLedger
  transactions: GeneratedTransaction[]
  offers?: { changed: GeneratedOffer[]; removed: Integer[] }
}
