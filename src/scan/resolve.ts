/** From a query and its values to a list and a span: what the path names, what the filters ask for, and what must exist. */
import { badRequest, checkObject } from '../check.ts'
import { FolioError } from '../errors.ts'
import type { Place } from '../layout/block.ts'
import { params, pathNames } from '../params.ts'
import type { Facing, List, One, Query } from '../query.ts'
import { common, type OrdinalList, Posting, type Span, wholeLog } from './list.ts'
import { Listing, type Values } from './listing.ts'
import { everything } from './locate.ts'
import { parentOf } from './parents.ts'
import type { Reader } from './reader.ts'

const queryOf = { one: 'a row of the catalogue that gives one record', list: 'a row of the catalogue that gives a list' }

/** @throws BAD_REQUEST if `query` is not a query of this kind */
export function checkQuery(query: Query, kind: Query['kind']): void {
  if (query?.kind !== kind) throw badRequest('query', queryOf[kind])
}

/**
 * Refuses a value that the row does not take, such as a filter under its wire name: if it were ignored, records would come that were not asked for.
 */
function checkValueNames(query: Query, names: readonly string[], values: Values): void {
  const filters: readonly string[] | undefined = query.kind === 'list' ? query.filters?.members : undefined
  for (const name in values) {
    if (names.includes(name) || filters?.includes(name) || values[name] === undefined) continue
    const taken = [...names, ...(filters ?? [])].join(', ') || 'no values; options come after them'
    throw badRequest(name, `not a value of ${query.path}, which takes ${taken}`)
  }
}

/**
 * The values of a query, copied, and those of its path checked.
 * @throws BAD_REQUEST if `query` is not a query of this kind, or for values that it does not take or that no text could have produced
 */
export function checkedValues(query: Query, kind: Query['kind'], values: unknown = {}): Values {
  checkQuery(query, kind)
  const given: Values = checkObject(values as object, 'values')
  const names = pathNames(query.path)
  checkValueNames(query, names, given)
  const checked: Record<string, unknown> = (query.kind === 'list' && query.filters?.copy(given)) || {}
  for (const name of names) checked[name] = params[name].check(given[name] as never, name)
  return checked
}

/** A list with its values. Its filters are checked once it is read. @throws BAD_REQUEST */
export const listingOf = <R, V>(query: List<R, V>, values: V): Listing<R> => new Listing(query, checkedValues(query, 'list', values))

/** The same with its filters checked, for whoever keeps it. @throws BAD_REQUEST */
export function checkedListing<R>(listing: Listing<R>): Listing<R> {
  void listing.picked
  return listing
}

export interface Resolved {
  readonly list: OrdinalList
  readonly span: Span
  /** The face of the records asked for, if any. */
  readonly facing: Facing
  /**
   * To be called if nothing was found, or if the request is refused for what lies in the store: a parent with records exists, and need not be looked
   * up.
   * @throws NOT_FOUND if the path names something that does not exist
   */
  check(): void
}

const notFound = (what: string, value: unknown): FolioError => new FolioError('NOT_FOUND', { what, value: String(value) })

/** @throws GONE_BEFORE_HISTORY, BAD_REQUEST */
export function resolve(reader: Reader, listing: Listing): Resolved {
  const { query, values } = listing
  // Filters are checked before anything is looked up: a malformed request is one, whatever its path names.
  const { lists, facing } = listing.picked
  let span = everything(reader, query.of)
  let parent: { what: string; value: unknown; exists: () => boolean } | undefined
  for (const name of pathNames(query.path)) {
    const value = values[name]
    const row = parentOf(name)
    if ('span' in row) {
      const place = row.find(reader, value)
      span = place ? row.span(reader, query.of, place) : nothing
      parent = { what: name, value, exists: () => place !== undefined }
    } else parent = { what: name, value, exists: () => row.exists(reader, value) }
  }
  const list =
    lists.length === 0
      ? wholeLog
      : common(
          lists.map((one) => new Posting(reader, one)),
          reader.requests,
        )

  const check = (): void => {
    if (parent && query.missing === 'parent' && !parent.exists()) throw notFound(parent.what, parent.value)
    if (parent && query.missing === 'empty' && list.take(span, 1, false).ordinals.length === 0)
      throw notFound(`${query.of.name}s of ${parent.what}`, parent.value)
  }
  return { list, span, facing, check }
}

const nothing: Span = { from: 0, to: 0 }

/** One record. @throws NOT_FOUND, GONE_BEFORE_HISTORY */
export function resolveOne(reader: Reader, query: One, values: Values): Place {
  const name = pathNames(query.path)[0]!
  const value = values[name]
  const place = parentOf(name).find(reader, value)
  if (!place) throw notFound(name, value)
  return place
}
