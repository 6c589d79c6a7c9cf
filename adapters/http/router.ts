/** Routes: a path of the catalogue, or one of the adapter's own. The path parameters of a match are still percent-encoded. */
import { addRoute, createRouter, findRoute } from 'rou3'
import { catalogue, type List, type One } from '../../src/index.ts'

/** Paths besides the catalogue's. */
export const ownPaths = ['/', '/problems/{name}', '/openapi.json', '/health', '/metrics'] as const
export type OwnPath = (typeof ownPaths)[number]

export type Route =
  | { readonly kind: 'query'; readonly name: string; readonly query: One | List }
  | { readonly kind: 'own'; readonly path: OwnPath }

export interface Match {
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
}

const router = createRouter<Route>()
const add = (path: string, route: Route): void => addRoute(router, '', path.replace(/\{(\w+)\}/g, ':$1'), route)
for (const [name, query] of Object.entries(catalogue)) add(query.path, { kind: 'query', name, query })
for (const path of ownPaths) add(path, { kind: 'own', path })

const none = {}

/** @param path as sent; a trailing slash makes no difference */
export function match(path: string): Match | undefined {
  const found = findRoute(router, '', path)
  return found && { route: found.data, params: (found.params as Record<string, string> | undefined) ?? none }
}
