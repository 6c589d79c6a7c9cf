/** The laws of paging, for listings that were checked to be listings: with a misspelt member, a law would pass without trying anything. */
import { badRequest, checkNames } from '../../src/index.ts'
import { type Law, pagingLaws as lawsOfPaging, type PagedListing, type PagingSubject } from '../check/index.ts'

const NAMES = ['page', 'token', 'maxLimit', 'records', 'between', 'grow', 'live', 'ask'] as const

/** Of an object of a class, only the members that are asked for are looked at: it may have members of its own. */
function checkListing<R>(listing: PagedListing<R>): PagedListing<R> {
  const plain = typeof listing !== 'object' || listing === null || [Object.prototype, null].includes(Object.getPrototypeOf(listing))
  if (plain) checkNames(listing, 'a listing', NAMES)
  for (const name of ['page', 'token', 'records', 'between', 'grow', 'ask'] as const)
    if (typeof listing[name] !== 'function' && (listing[name] !== undefined || name === 'page' || name === 'token'))
      throw badRequest(name, 'a function', String(listing[name]))
  const { maxLimit, live } = listing
  if (maxLimit !== undefined && !(Number.isSafeInteger(maxLimit) && maxLimit >= 1))
    throw badRequest('maxLimit', 'a whole number, 1 or more', String(maxLimit))
  if (live !== undefined && typeof live !== 'boolean') throw badRequest('live', 'true or false', String(live))
  return listing
}

/**
 * The laws of paging, for any API that gives a page for a cursor, an order and a limit.
 *
 * A law that cannot be checked on a listing tells the runner to skip it, as laws of stores do, and otherwise passes: cursors between records if none
 * are known, the order of tokens that are not numbers, growth without `grow`, anything on an empty listing. A law rejects with BAD_REQUEST if a member
 * of the listing is unknown or out of range.
 * @throws BAD_REQUEST if a member of the subject is unknown or out of range
 * @example for (const law of pagingLaws({ open: () => ({ page, token: (record) => record.id }) })) test(law.name, law.run)
 */
export function pagingLaws<R>(subject: PagingSubject<R>): Law[] {
  if (typeof subject?.open !== 'function') return lawsOfPaging(subject)
  return lawsOfPaging({ ...subject, open: async () => checkListing(await subject.open()) })
}
