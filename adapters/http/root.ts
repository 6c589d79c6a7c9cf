/** The link index at `/`: a link, or a template, for everything that is served. */
import { catalogue, type HistoryHead, type List, type One } from '../../src/index.ts'

/** The query parameters of a listing in declared order: its filters, then those of every page. */
const listParameters = (query: List): string[] => [...Object.keys(query.filters?.names ?? {}), 'cursor', 'limit', 'order']

const pathOf = (query: One | List): string => (query.kind === 'list' ? `${query.path}{?${listParameters(query).join()}}` : query.path)

/** @param base base URL, without a trailing slash */
export function root(base: string, head: HistoryHead | undefined): object {
  const links: Record<string, object> = { self: { href: `${base}/` } }
  const add = (name: string, path: string): void => {
    links[name] = { href: base + path, ...(path.includes('{') && { templated: true }) }
  }
  for (const [name, query] of Object.entries(catalogue)) add(name, pathOf(query))
  add('problem', '/problems/{name}')
  add('openapi', '/openapi.json')
  add('health', '/health')
  add('metrics', '/metrics')
  return { _links: links, history: head ? historyOf(head) : null }
}

/** How far history reaches, in wire form. */
export const historyOf = ({ oldest, last, hash, closedAt }: HistoryHead): object => ({
  oldest_ledger: oldest,
  last_ledger: last,
  last_hash: hash,
  last_closed_at: closedAt,
})
