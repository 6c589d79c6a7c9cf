/** ledger-folio: an embeddable query engine for ledger history. A *ledger* is opened over a *store*; *queries* give *pages* or *streams*. */

export { type CopyOptions, type CopyProgress, type CopyReport, copyStore, isVacant } from './audit/copy.ts'
export { type DescribeOptions, describeStore, type StoreDescription } from './audit/describe.ts'
export { refuseForeign } from './audit/foreign.ts'
export { networkOf } from './audit/network.ts'
export type { LedgerRange } from './audit/range.ts'
export type { ClosesOf, UnfitClose } from './audit/refill.ts'
export { type RepairOptions, type RepairReport, repairStore } from './audit/repair.ts'
export type { Fault, VerifyOptions, VerifyProgress, VerifyReport } from './audit/report.ts'
export { verifyStore } from './audit/verify.ts'
export { compare, concat, copy, crc32, Region, SLACK, same, text as fromUtf8, utf8, writeAscii, writeText } from './bytes.ts'
export { type Catalogue, catalogue, type QueryName, type RecordName } from './catalogue.ts'
export { badRequest, OptionRules, type Rule, type Rules } from './check.ts'
export { type ErrorCode, type ErrorFields, errorTable, FolioError } from './errors.ts'
export type { IngestOptions } from './ingest/batches.ts'
export { type AppendOptions, type AppendResult, checkCloses, closeSchema, type LedgerClose, type OfferChanges } from './ingest/close.ts'
export { Digits, type Json, parseJson, stringifyJson } from './json.ts'
export type { Block, Place, Slice } from './layout/block.ts'
export type { Finished, Finisher } from './layout/finisher.ts'
export type { Ledger } from './ledger.ts'
export { openLedger } from './open.ts'
export type { HistoryHead, IngestResult, LedgerOptions } from './options.ts'
export {
  DEFAULT_LIMIT,
  MAX_LIMIT,
  type Order,
  type Param,
  type ParamTypes,
  type PathValues,
  params,
  parseLimit,
  parseOrder,
  pathNames,
} from './params.ts'
export { type Cursor, endOfLedger, ledgerOf, parseCursor, writeId, writeIndexed, writeNumber } from './position.ts'
export type { Filters, Index, List, One, OpenRecord, Picked, Query, RecordOf, Resource, StoredSource, ValuesOf } from './query.ts'
export type { Account } from './resources/account.ts'
export type { Asset } from './resources/asset.ts'
export {
  type AccountCreated,
  type AccountDebited,
  type Effect,
  type EffectInput,
  isAccountCreated,
  isAccountDebited,
  isSignerCreated,
  type SignerCreated,
} from './resources/effect.ts'
export type { Ledger as LedgerRecord, LedgerInput } from './resources/ledger.ts'
export type { Offer, OfferAsset, OfferInput } from './resources/offer.ts'
export {
  type AccountMerge,
  type CreateAccount,
  isAccountMerge,
  isCreateAccount,
  isPathPayment,
  isPayment,
  isPaymentOperation,
  type Operation,
  type OperationInput,
  operationTypes,
  type PathPayment,
  type Payment,
  type PaymentOperation,
  paymentTypes,
} from './resources/operation.ts'
export type { Int64Input } from './resources/schema.ts'
export type { Trade, TradeFilter, TradeInput } from './resources/trade.ts'
export type { Transaction, TransactionInput } from './resources/transaction.ts'
export type { Explanation } from './scan/explain.ts'
export type { Listing } from './scan/listing.ts'
export type { NdjsonChunk, NdjsonOptions } from './scan/ndjson.ts'
export { type Ended, newestLedger, type Page, type PageOptions, type RawPage, type WalkOptions } from './scan/page.ts'
export type { ReadStats } from './scan/requests.ts'
export {
  after,
  type Capabilities,
  type Chunk,
  checkScan,
  type Entry,
  isEmptyRange,
  isPromise,
  type KeyRange,
  type MaybePromise,
  missingIn,
  type ScanOptions,
  type Snapshot,
  type Store,
  type Write,
  type WriteOptions,
} from './store.ts'
export { disposable, type Stream, type StreamOptions } from './stream/stream.ts'
export type { Subscription, Taker } from './stream/tail.ts'
export type { Element as KeyElement } from './tuple.ts'
export { giveWay, nextTurn } from './turn.ts'
