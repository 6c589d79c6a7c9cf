/**
 * What the service document says of a URL, and whether a service keeps that document at all. One of another make may answer, refuse and stream as it
 * likes, as long as its pages keep the algebra of paging.
 */
import { catalogue, type List, type Order, pathNames, type Query } from '../../src/index.ts'
import type { Unchecked } from './algebra.ts'
import { type Answer, type Client, Exhausted, Unreachable } from './client.ts'
import { type Members, paged, recordsIn, tokenOf } from './hal.ts'
import { numbersOf } from './paged.ts'
import { Fault } from './window.ts'

/** A law of the form of answers, as opposed to what pages hold. */
export interface FormLaw {
  readonly name: string
  /** Whether the listing is one that the law is about; otherwise it is not mentioned. */
  concerns(at: Listed): boolean
  check(at: Listed): Promise<Unchecked>
}

/** A law that every single answer keeps, whatever it was asked for. */
export interface AnswerLaw {
  readonly name: string
  /** @param accept what the request accepts, if a law chose that. @returns what is wrong with an answer, true if nothing is, false if the law does not concern it. */
  judge(url: string, accept: string | undefined, answer: Answer): string | boolean
}

/** A listing of a service. */
export interface Listed {
  readonly client: Client
  readonly url: string
  /** The largest limit that it takes. */
  readonly limit: number
  /** Undefined if the document does not know it. */
  readonly place: Placed | undefined
  readonly site: Site
  /** Its records at either end. */
  readonly ends: Ends
  /** Whether the service keeps the document. */
  readonly isOurs: boolean
}

/** A query of the document, where a service has it. */
export interface Placed<Q extends Query = List> {
  readonly query: Q
  /** What precedes its path. */
  readonly base: string
  /** The name of its path parameter; undefined if it has none. */
  readonly hole: ReturnType<typeof pathNames>[number] | undefined
}

const HOLE = /\{\w+\}/
const patterns = Object.values(catalogue).map((query: Query) => ({
  query,
  hole: pathNames(query.path)[0],
  pattern: new RegExp(`^(.*)${query.path.replace(HOLE, '[^/]+')}$`),
}))

/** Of several queries with which a path may end, the one with the longest path is meant: `/ledgers/7/effects` is no `/effects`. */
function placeOf<Q extends Query>(url: string, kind: Q['kind']): Placed<Q> | undefined {
  const { origin, pathname } = new URL(url)
  const path = pathname.replace(/\/$/, '')
  const places = patterns.flatMap(({ query, hole, pattern }) => {
    const before = query.kind === kind ? pattern.exec(path)?.[1] : undefined
    return before === undefined ? [] : [{ query: query as Q, hole, base: origin + before }]
  })
  return places.sort((a, b) => a.base.length - b.base.length)[0]
}

export const listAt = (url: string): Placed | undefined => placeOf<List>(url, 'list')
export const recordAt = (url: string): Placed<Extract<Query, { kind: 'one' }>> | undefined => placeOf(url, 'one')

/** The URL of a query, with a value in place of its parameter. */
export const filledIn = ({ query, base }: Placed<Query>, value: string): string => base + query.path.replace(HOLE, () => value)

/** A URL with parameters added, in this order. */
export function withParams(url: string, ...params: readonly (readonly [name: string, value: string])[]): string {
  const target = new URL(url)
  for (const [name, value] of params) target.searchParams.append(name, value)
  return target.href
}

/** The ledger of a record that is numbered by the total order; undefined for any other token. */
export function ledgerOf(token: string): bigint | undefined {
  const [id] = numbersOf(token) ?? []
  return id === undefined ? undefined : id >> 32n
}

/** The records of a page. @throws Fault if it is none */
export async function recordsAt(client: Client, url: string, cursor: string, order: Order, limit: number): Promise<Members[]> {
  const asked = paged(url, cursor, order, limit)
  return recordsOf(await client.get(asked), asked)
}

export function recordsOf({ status, body }: Answer, asked: string): Members[] {
  const records = status === 200 ? recordsIn(body) : undefined
  if (!records) throw new Fault(`GET ${asked}: expected a page, answered ${status}`)
  return records
}

/** How many records are looked at, at either end. */
export const FEW = 6

/** The first and the last records of a listing, read once for all laws: what is added meanwhile changes neither which they are, nor their order. */
export class Ends {
  private readonly held: { [order in Order]?: Members[] } = {}
  private readonly client: Client
  private readonly url: string
  private readonly changes: boolean

  /** @param changes it lists what is there now: records may go, so they are read each time */
  constructor(client: Client, url: string, changes: boolean) {
    this.client = client
    this.url = url
    this.changes = changes
  }

  /** The oldest records, oldest first. */
  oldest(): Promise<Members[]> {
    return this.read('asc')
  }

  /** The newest records, oldest first. */
  async newest(): Promise<Members[]> {
    return (await this.read('desc')).toReversed()
  }

  private async read(order: Order): Promise<Members[]> {
    const held = this.changes ? undefined : this.held[order]
    const records = held ?? (await recordsAt(this.client, this.url, '', order, FEW))
    this.held[order] = records
    return records
  }
}

/** A service that keeps the document. */
export class Site {
  /** What its paths follow. */
  readonly base: string
  private readonly client: Client

  constructor(client: Client, base: string) {
    this.client = client
    this.base = base
  }

  /** The newest ledger; undefined if there is none. */
  async newest(): Promise<bigint | undefined> {
    const [record] = await recordsAt(this.client, `${this.base}/ledgers`, '', 'desc', 1)
    return record && ledgerOf(tokenOf(record))
  }
}

export const NOWHERE = '/no/such/path'

/**
 * Why a service is not one of the document; undefined if it is. It is known by its problems, and one sign is enough: that the other is missing is then a
 * fault.
 * @throws nothing: a service that does not say is asked for no more than pages
 */
export async function otherMake(client: Client, base: string | undefined): Promise<string | undefined> {
  if (base === undefined) return 'its path is none of the service document'
  try {
    const unknown = await client.get(base + NOWHERE)
    if (unknown.body?.type === '/problems/not_found') return undefined
    const page = await client.get(`${base}/problems/not_found`)
    if (page.status === 200 && page.body?.type === '/problems/not_found') return undefined
    const said = typeof unknown.body?.type === 'string' ? `a problem of type ${unknown.body.type}` : 'no problem'
    return `it is of another make: GET ${base}${NOWHERE} is answered ${unknown.status}, ${said}, and nothing is served at /problems/not_found`
  } catch (error) {
    if (error instanceof Exhausted || error instanceof Unreachable) return error.message
    throw error
  }
}
