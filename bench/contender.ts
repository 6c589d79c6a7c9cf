/**
 * A contender: anything that can answer a query of the catalogue with the bytes of a response body.
 */
import type { GeneratedClose } from '../adapters/generate/index.ts'

/** The lists that are queried, by their names in the catalogue. */
export type ListName =
  | 'transactions'
  | 'operations'
  | 'effects'
  | 'trades'
  | 'transactionsOfAccount'
  | 'operationsOfAccount'
  | 'paymentsOfAccount'
  | 'effectsOfAccount'
  | 'tradesOfAccount'
  | 'tradesOfOffer'

export interface AssetName {
  readonly type: 'native' | 'credit_alphanum4' | 'credit_alphanum12'
  readonly code?: string
  readonly issuer?: string
}

/** One request as plain data. */
export interface Ask {
  readonly what: ListName | 'transaction'
  readonly account?: string
  readonly offer?: string
  readonly hash?: string
  readonly base?: AssetName
  readonly counter?: AssetName
  readonly cursor?: string
  readonly order: 'asc' | 'desc'
  readonly limit: number
}

/** The base URL of every link, the same for all contenders. */
export const BASE = 'http://127.0.0.1:8000'

/** An ASCII string whose characters lie side by side, as those that a server has used before; a template gives a tree of its pieces. */
const inOnePiece = (text: string): string => Buffer.from(text, 'latin1').toString('latin1')

export const assetText = ({ type, code, issuer }: AssetName): string => (type === 'native' ? 'native' : `${code}:${issuer}`)

/** The filters of a request, in the order in which links carry them. */
export function filtersOf({ base, counter }: Ask): [name: string, value: string][] {
  const out: [string, string][] = []
  for (const [side, asset] of [
    ['base', base],
    ['counter', counter],
  ] as const)
    for (const part of ['type', 'code', 'issuer'] as const) {
      const value = asset?.[part]
      if (value !== undefined) out.push([`${side}_asset_${part}`, value])
    }
  return out
}

/** The path of a request, without its query string. */
export function pathOf({ what, account, offer, hash }: Ask): string {
  if (what === 'transaction') return `/transactions/${hash}`
  if (what === 'tradesOfOffer') return `/offers/${offer}/trades`
  return what.endsWith('OfAccount') ? `/accounts/${account}/${what.slice(0, -'OfAccount'.length)}` : `/${what}`
}

/** What the links of a page begin with: the base URL, the path, the filters, and whatever follows for all of them. */
export function linkOf(ask: Ask, base: string, then = ''): string {
  const query = filtersOf(ask).map(([name, value]) => `${name}=${encodeURIComponent(value)}&`)
  return inOnePiece(`${base}${pathOf(ask)}?${query.join('')}${then}`)
}

/** The HTTP request target. */
export function targetOf(ask: Ask): string {
  if (ask.what === 'transaction') return pathOf(ask)
  const query = new URLSearchParams(filtersOf(ask))
  if (ask.cursor !== undefined) query.set('cursor', ask.cursor)
  query.set('limit', String(ask.limit))
  query.set('order', ask.order)
  return `${pathOf(ask)}?${query}`
}

/** What a contender's own server takes, apart from the process that asks it: CPU time so far, and memory. */
export interface ServerUse {
  readonly cpuMs: number
  readonly systemMs: number
  readonly bytes: number
}

export interface Contender {
  /** Prepares what an HTTP layer would have read from the request. Not part of the measured time. */
  prepare(ask: Ask): unknown
  /** The response body, in parts. */
  body(prepared: unknown): readonly Uint8Array[] | Promise<readonly Uint8Array[]>
  /** The records of the response, as objects. */
  records(prepared: unknown): readonly unknown[] | Promise<readonly unknown[]>
  /** Appends one ledger, which is durable when this resolves. */
  append(close: GeneratedClose): void | Promise<void>
  /**
   * Appends several ledgers in order. Only where there is a separate way to do that.
   * @param alone each ledger is durable by itself; otherwise some may wait for each other, whichever way is usual
   */
  ingest?(closes: readonly GeneratedClose[], alone: boolean): Promise<void>
  /** Only where another process does a part of the work. */
  server?(): ServerUse
  close(): void | Promise<void>
}
