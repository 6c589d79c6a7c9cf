/** What a request asks for, read from its path and query. The checks run in this order: cursor, limit, order; then filters; then path parameters. */
import { type List, type One, params as parameters, parseCursor, parseLimit, parseOrder, pathNames } from '../../src/index.ts'
import type { Asked } from './page.ts'
import { type Match, match } from './router.ts'
import { decode, parseQuery, parseTarget, type QueryText } from './target.ts'

/** @throws BAD_REQUEST */
export function pageOf(query: List, text: QueryText, lastEventId: string | undefined): Asked {
  const cursor = lastEventId || text('cursor')
  if (cursor !== '' && cursor !== 'now') parseCursor(cursor, query.of.indexed, lastEventId ? 'Last-Event-ID' : 'cursor')
  const limit = parseLimit(text('limit'))
  return { cursor, limit, order: parseOrder(text('order')) }
}

/** The values of filters and path. @throws BAD_REQUEST */
export const listValues = (query: List, raw: Match['params'], text: QueryText): Record<string, unknown> => ({
  ...query.filters?.parse(text),
  ...pathValues(query, raw),
})

/** @throws BAD_REQUEST */
export function pathValues(query: One | List, raw: Match['params']): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const name of pathNames(query.path)) values[name] = parameters[name].parse(decode(raw[name]!, name), name)
  return values
}

export interface AskedList extends Asked {
  readonly query: List
  readonly values: Record<string, unknown>
}

/** The list that a path and query ask for; undefined if they ask for something else. @throws BAD_REQUEST */
export function listOf(target: string): AskedList | undefined {
  const { path, query: search } = parseTarget(target)
  const found = match(path)
  if (found?.route.kind !== 'query' || found.route.query.kind !== 'list') return undefined
  const { query } = found.route
  const text = parseQuery(search)
  return { ...pageOf(query, text, undefined), query, values: listValues(query, found.params, text) }
}
