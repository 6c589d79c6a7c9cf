/**
 * The algebra of paging, checked on any paged API: in process as laws for a test runner, or over HTTP on any service.
 * Needs nothing but the engine, so that the command line can use it.
 */
export type { PagingOptions } from './algebra.ts'
export type { LawResult } from './checking.ts'
export { type Bounds, Unreachable } from './client.ts'
export { COUNT, type Declined, decline, type Law, MILLISECONDS, PATIENCE, tellSkipped, unanswered } from './law.ts'
export { type PagingSubject, pagingLaws } from './laws.ts'
export { type PagedListing, type PagedPage, textOf } from './paged.ts'
export {
  checkService,
  countedLaws,
  type ListingResult,
  NoListing,
  type ServiceOptions,
  type ServiceReport,
  serviceDefaults,
} from './service.ts'
