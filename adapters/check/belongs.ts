/**
 * A second source of the records of a service: what its other listings show, and where the records' own links lead. Without one, a listing that leaves
 * out records cannot be told from a shorter one.
 * **Invariant:** only what the service document says is taken for granted: which links and members of a record name what lists it too.
 */
import { paymentTypes } from '../../src/index.ts'
import { spread, type Unchecked } from './algebra.ts'
import type { Client } from './client.ts'
import { halListing, type Members, recordsIn, targetOf, tokenOf } from './hal.ts'
import { numbersOf, type PagedListing, textOf } from './paged.ts'
import { ask, asked, Fault } from './window.ts'

export const BELONGS = 'a record is in every listing that it belongs to, and the same there and by its own link'
/** Why the law says nothing of a listing. */
export const UNRELATED = 'its records belong to no other listing'

/** How many records of another listing are looked for with a request each, and how many own links are followed. */
const WITNESSES = 16
const FOLLOWED = 4

/** A listing of the service, and the largest limit that it takes. */
interface Known {
  readonly url: string
  readonly limit: number
}

interface Listed extends Place {
  readonly listing: PagedListing<Members>
  readonly limit: number
}

/** Records by their tokens. */
type Own = ReadonlyMap<string, Members>

interface Owners {
  readonly links: readonly string[]
  readonly accounts: readonly string[]
}

/** What lists a record under the same name, by that name: what these links lead to, and accounts that these members name. */
const owners: ReadonlyMap<string, Owners> = new Map([
  ['ledgers', { links: [], accounts: [] }],
  ['transactions', { links: ['account', 'ledger'], accounts: ['account', 'source_account'] }],
  [
    'operations',
    {
      links: ['transaction', 'transactions'],
      accounts: ['source_account', 'account', 'funder', 'sender', 'receiver', 'from', 'to', 'into', 'trustor'],
    },
  ],
  [
    'payments',
    {
      links: ['transaction', 'transactions'],
      accounts: ['source_account', 'account', 'funder', 'sender', 'receiver', 'from', 'to', 'into'],
    },
  ],
  ['effects', { links: ['operation'], accounts: ['account'] }],
  ['trades', { links: ['base', 'counter', 'operation'], accounts: ['base_account', 'counter_account'] }],
])

/** Where a listing stands: `/accounts/GABC/trades` lists the trades of `/accounts/GABC`, and `/trades` those of everything. */
interface Place {
  readonly url: string
  readonly name: string
  /** The path of what its records belong to. */
  readonly owner: string
  /** If that is one thing: the path of everything. */
  readonly whole: string | undefined
  /** What that is: `ledgers`. */
  readonly kind: string
  /** If it is an account: which. */
  readonly account: string | undefined
  readonly filtered: boolean
}

function placeOf(url: string): Place {
  const { pathname, search } = new URL(url)
  const segments = pathname.replace(/\/$/, '').split('/')
  const [kind = '', id] = segments.slice(-3)
  return {
    url,
    kind,
    name: segments.at(-1)!,
    owner: segments.slice(0, -1).join('/'),
    whole: segments.length > 3 ? segments.slice(0, -3).join('/') : undefined,
    account: segments.length > 3 && kind === 'accounts' ? decoded(id!) : undefined,
    filtered: search !== '',
  }
}

/** A segment of a path, as records would name it. */
function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}

/** Whether a record of one listing must be in another. */
function belongs(record: Members, from: Place, to: Place): boolean {
  if (to.filtered) return false
  if (from.owner === to.owner) return isPayment(record, from.name, to.name)
  if (from.name !== to.name) return false
  return from.whole === to.owner || (to.whole !== undefined && [from.owner, from.whole].includes(to.whole) && isOf(record, from, to))
}

/** Payments are operations, and operations of four types are payments. */
const isPayment = (record: Members, from: string, to: string): boolean =>
  (from === 'payments' && to === 'operations') || (from === 'operations' && to === 'payments' && paymentTypes.has(record['type']))

/** Whether a record says that it is one of those that a listing of one owner shows. */
function isOf(record: Members, from: Place, { name, owner, account }: Place): boolean {
  const { links, accounts } = owners.get(name)!
  const targets = links.flatMap((link) => targetOf(record['_links']?.[link], from.url) ?? [])
  return targets.some((target) => new URL(target).pathname === owner) || accounts.some((member) => account && record[member] === account)
}

/** The links of records that name what they alone belong to, by what that is. */
const sole: ReadonlyMap<string, readonly string[]> = new Map([
  ['ledgers', ['ledger']],
  ['transactions', ['transaction', 'transactions']],
  ['operations', ['operation']],
])

/** @throws Fault if a listing of one owner has a record of another */
function checkOwn(records: readonly Members[], { url, name, kind, owner, account }: Place): void {
  for (const record of records) {
    const links = owners.get(name)!.links.filter((link) => sole.get(kind)?.includes(link))
    const other = links
      .map((link) => targetOf(record['_links']?.[link], url))
      .find((target) => target && new URL(target).pathname !== owner)
    if (other !== undefined) throw new Fault(`GET ${url}: has ${tokenOf(record)}, which belongs to ${other}`)
    if (name === 'effects' && account !== undefined && ![undefined, account].includes(record['account']))
      throw new Fault(`GET ${url}: has ${tokenOf(record)}, which is of the account ${record['account']}`)
  }
}

/** The cursor from which, descending, a record comes first; undefined if that is not known. */
function justAfter(token: string): string | undefined {
  const [first, second] = numbersOf(token) ?? []
  if (first === undefined) return undefined
  return second === undefined ? `${first + 1n}` : `${first}-${second + 1n}`
}

/** Compares the members that two forms of a record share. Trades are compared if they face the same way: without a pair, either will do. */
export function checkSame(came: Members, known: Members, where: string, source: string): void {
  if (came['base_is_seller'] !== known['base_is_seller']) return
  const name = Object.keys(known).find(
    (name) => name !== '_links' && Object.hasOwn(came, name) && textOf(came[name]) !== textOf(known[name]),
  )
  if (name !== undefined)
    throw new Fault(`${where}: ${name} of ${tokenOf(known)} is ${textOf(came[name])}, and ${textOf(known[name])} in ${source}`)
}

/** Whether two records cannot be one: where tokens count the records of each listing by itself, one token stands for many. */
const isOther = (one: Members, other: Members): boolean =>
  ['id', 'hash'].some((name) => name in one && name in other && textOf(one[name]) !== textOf(other[name]))

/**
 * Looks in a listing for records that another shows.
 * @param own records that it was seen to have
 * @returns how many were found; 0 if tokens have another meaning in each of the listings
 * @throws Fault if some are missing. If all are, that may be the reason, unless this listing is empty.
 */
async function look({ url, listing }: Listed, own: Own, witnesses: readonly Members[], source: string): Promise<number> {
  const found: [came: Members, record: Members, where: string][] = []
  const missing: string[] = []
  const unknown = witnesses.filter((record) => !own.has(tokenOf(record)))
  for (const record of witnesses) {
    const came = own.get(tokenOf(record))
    if (came) found.push([came, record, `GET ${url}`])
  }
  for (const record of spread(unknown, WITNESSES)) {
    const token = tokenOf(record)
    const cursor = justAfter(token)
    if (cursor === undefined) continue
    const where = asked(listing, cursor, 'desc', 1)
    const [came] = (await ask(listing, cursor, 'desc', 1)).records
    if (came !== undefined && tokenOf(came) === token) found.push([came, record, where])
    else missing.push(`${where}: expected ${token}, which ${source} shows, got ${came ? tokenOf(came) : 'no record'}`)
  }
  if (found.some(([came, record]) => isOther(came, record))) return 0
  for (const [came, record, where] of found) checkSame(came, record, where, source)
  if (missing.length > 0 && (own.size === 0 || found.length > 0)) throw new Fault(missing[0])
  return found.length
}

/**
 * Follows the own link of a record.
 * @returns whether it has one
 * @throws Fault if it leads nowhere, or to something else
 */
async function follow(client: Client, record: Members, source: string): Promise<boolean> {
  const target = targetOf(record['_links']?.['self'], source)
  if (target === undefined || new URL(target).origin !== new URL(source).origin) return false
  const { status, body } = await client.get(target)
  const token = tokenOf(record)
  const wrong = (what: string): never => {
    throw new Fault(`GET ${target}: ${what}, and ${token} in ${source} links to it as itself`)
  }
  if (status === 404 || status >= 500) wrong(`answered ${status}`)
  if (status !== 200 || typeof body !== 'object' || body === null) return false
  const listed = recordsIn(body)
  const came = listed ? listed.find((one) => tokenOf(one) === token) : body
  if (came === undefined) wrong('does not have it')
  checkSame(came, record, `GET ${target}`, source)
  return true
}

/**
 * The law for the listings of one service, each against the others.
 * @returns what checks the listing at a URL; records that it reads are kept
 */
export function belonging(client: Client, known: readonly Known[]): (url: string) => Promise<Unchecked> {
  const places = known
    .map(({ url, limit }): Listed => ({ ...placeOf(url), listing: halListing(client, url, limit), limit }))
    .filter(({ name }) => owners.has(name))
  const held = new Map<string, Own>()

  /** The records at both ends of a listing. What is wrong with its pages, other laws say. */
  const recordsOf = async ({ url, listing, limit }: Listed): Promise<Own> => {
    const before = held.get(url)
    if (before) return before
    const found = new Map<string, Members>()
    try {
      for (const order of ['asc', 'desc'] as const)
        for (const record of (await ask(listing, '', order, limit)).records) found.set(tokenOf(record), record)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
    }
    held.set(url, found)
    return found
  }

  return async (url) => {
    const to = places.find((place) => place.url === url)
    if (!to) return UNRELATED
    const seen = await recordsOf(to)
    const own = [...seen.values()]
    checkOwn(own, to)
    let compared = 0
    for (const from of places) {
      if (from === to) continue
      const witnesses = [...(await recordsOf(from)).values()].filter((record) => belongs(record, from, to))
      compared += await look(to, seen, witnesses, from.url)
    }
    for (const record of spread(own, FOLLOWED)) if (await follow(client, record, url)) compared++
    return compared === 0 ? UNRELATED : undefined
  }
}
