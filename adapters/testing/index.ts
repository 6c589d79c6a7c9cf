/**
 * `ledger-folio/testing`: what ledger-folio is tested with, for tests of your own. It needs fast-check, and no test runner: laws have a name,
 * and a `run` that rejects if the law does not hold.
 *
 * - {@link storeConformance}: does a store keep the contract?
 * - {@link pagingLaws}, {@link checkService}: does a paged API, ours or another's, in process or over HTTP, page without loss?
 * - {@link streamLaws}: does a stream deliver each record once, in order, whatever the interleaving?
 * - {@link closeChain}, {@link invalidClose}, {@link anyRequest} and their parts: arbitrary ledgers, and what to ask of them.
 * - {@link naiveLedger}: the reference model, which answers every query by filtering arrays.
 *
 * Properties print the seed of a failure and its smallest case; `FC_SEED` in the environment repeats it, `FC_RUNS` sets how many cases are
 * tried.
 */
export {
  type Bounds,
  checkService,
  type Declined,
  type Law,
  type LawResult,
  type ListingResult,
  NoListing,
  type PagedListing,
  type PagedPage,
  type PagingOptions,
  type PagingSubject,
  pagingLaws,
  type ServiceOptions,
  type ServiceReport,
  Unreachable,
} from '../check/index.ts'
export { assetPool, type CloseShape, closeChain, closeOf, closeShape, firstLedger, hashOf, offerPool } from './arbitraries.ts'
export { type InvalidClose, invalidClose } from './arbitrary-refusals.ts'
export { anyRequest, type QueryRequest, type RequestDraw, requestDraw, requestOf, valuesWorthAsking } from './arbitrary-requests.ts'
export { accountId, accountPool, int64 } from './arbitrary-values.ts'
export { type Flaw, flaws, MISSING_MEMBER, richClose, spoiledClose } from './invalid-closes.ts'
export { isRefusal, type Listed, type NaiveLedger, type NaivePage, naiveLedger, type Refusal } from './naive-ledger.ts'
export type { AnyMembers, Kind, ModelEntry, OfferChange } from './naive-records.ts'
export { slowStore } from './slow-store.ts'
export { type StoreSubject, storeConformance } from './store-conformance.ts'
export { type StreamSubject, streamLaws } from './stream-conformance.ts'
export type { StreamSource } from './stream-seat.ts'
