/** What a request asks for, read from its path and query. The checks run cursor, limit, order; then filters; then path parameters. */
import { type List, type One, params as parameters, parseCursor, parseLimit, parseOrder, pathNames } from '../../src/index.ts'
import type { Asked } from './page.ts'
import type { Match } from './router.ts'
import { decode, type QueryText } from './target.ts'

/** @throws ProblemError, BAD_REQUEST */
export function pageOf(query: List<any>, text: QueryText, lastEventId: string | undefined): Asked {
  const cursor = lastEventId || text('cursor')
  if (cursor !== '' && cursor !== 'now') parseCursor(cursor, query.of.indexed)
  const limit = parseLimit(text('limit'))
  return { cursor, limit, order: parseOrder(text('order')) }
}

/** @throws ProblemError, BAD_REQUEST */
export function pathValues(query: One<any> | List<any>, raw: Match['params']): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const name of pathNames(query.path)) values[name] = parameters[name].parse(decode(raw[name]!, name), name)
  return values
}
