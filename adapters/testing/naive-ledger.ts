/**
 * The reference model of the engine: all records in plain arrays, every query answered by filtering and sorting them.
 * Written from the specification, for clarity rather than speed; of the catalogue it knows only the paths.
 */
import { catalogue, type LedgerClose, type PageOptions, type QueryName } from '../../src/index.ts'
import {
  type AnyMembers,
  changesOf,
  entriesOf,
  isPayment,
  type Kind,
  type ModelEntry,
  type OfferChange,
  orderId,
  turned,
} from './naive-records.ts'

/** The code with which the engine must refuse; `field` if a parameter is at fault. */
export interface Refusal {
  readonly code: 'BAD_REQUEST' | 'NOT_FOUND' | 'GONE_BEFORE_HISTORY'
  readonly field?: string
}

export interface NaivePage {
  readonly records: AnyMembers[]
  readonly next: string
  readonly prev: string
  readonly ended: 'limit' | 'end'
}

export interface NaiveLedger {
  /** Takes a valid close that follows; the model does not deal with refused closes. */
  append(close: LedgerClose): void
  /** Forgets every ledger after `sequence`. */
  rollback(sequence: number): void
  page(query: QueryName, values: AnyMembers, options?: PageOptions): NaivePage | Refusal
  get(query: QueryName, values: AnyMembers): AnyMembers | undefined | Refusal
  /** All records of a listing, in ascending order. */
  list(query: QueryName, values: AnyMembers): Listed[] | Refusal
  /** Everything held, in order of position within a kind. */
  readonly entries: readonly ModelEntry[]
  readonly changes: readonly OfferChange[]
}

/** A record of a listing, as the listing shows it. */
export type Listed = Pick<ModelEntry, 'record' | 'token' | 'id' | 'index'>

export const isRefusal = (answer: unknown): answer is Refusal => typeof (answer as Refusal | undefined)?.code === 'string'

const MAX_ID = 2n ** 63n - 1n
const bad = (field: string): Refusal => ({ code: 'BAD_REQUEST', field })
const NOT_FOUND: Refusal = { code: 'NOT_FOUND' }
const GONE: Refusal = { code: 'GONE_BEFORE_HISTORY' }

/** What each path value must be. */
const isGood: Record<string, (value: any) => boolean> = {
  account: (value) => typeof value === 'string' && value !== '',
  hash: (value) => typeof value === 'string' && /^[0-9a-f]{64}$/i.test(value),
  ledger: (value) => Number.isInteger(value) && value >= 0 && value < 2 ** 31,
  operation: (value) => typeof value === 'bigint' && value >= 0n && value <= MAX_ID,
  offer: (value) => typeof value === 'bigint' && value >= 0n && value <= MAX_ID,
}

const kinds: Record<string, Kind> = {
  ledgers: 'ledger',
  transactions: 'transaction',
  operations: 'operation',
  payments: 'operation',
  effects: 'effect',
  trades: 'trade',
}

/** `/accounts/{account}/trades` asks for `trades` below `accounts`, named by `account`. */
function pathOf(query: QueryName): { parent?: string; name?: string; asked: string } {
  const [, first, second, third] = catalogue[query].path.split('/')
  return third === undefined && second === undefined
    ? { asked: first! }
    : { parent: first!, name: second!.slice(1, -1), asked: third ?? '' }
}

/** An asset of a trade or of a filter, as text; undefined if the filter's asset is not well-formed. */
const assetOf = (type: unknown, code: unknown, issuer: unknown): string => (type === 'native' ? 'native' : `${type}/${code}/${issuer}`)

function badAsset(asset: AnyMembers): string | undefined {
  if (asset['type'] === 'native') return undefined
  if (asset['type'] !== 'credit_alphanum4' && asset['type'] !== 'credit_alphanum12') return 'type'
  const longest = asset['type'] === 'credit_alphanum4' ? 4 : 12
  if (typeof asset['code'] !== 'string' || asset['code'] === '' || asset['code'].length > longest) return 'code'
  return typeof asset['issuer'] === 'string' && asset['issuer'] !== '' ? undefined : 'issuer'
}

/** A paging token as numbers; a bare one in a list of effects or trades has no index. */
function cursorOf(text: string, indexed: boolean): { id: bigint; index?: bigint } | undefined {
  const match = (indexed ? /^(\d+)(?:-(\d+))?$/ : /^(\d+)$/).exec(text)
  if (!match) return undefined
  const id = BigInt(match[1]!)
  const index = match[2] === undefined ? undefined : BigInt(match[2])
  if (id > MAX_ID || (index ?? 0n) > MAX_ID) return undefined
  return index === undefined ? { id } : { id, index }
}

const compare = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0)
const byPosition = (a: Listed, b: Listed): number => compare(a.id, b.id) || a.index - b.index

/** Which records lie below what a path names, by the first word of the path. */
const belongs: Record<string, (entry: ModelEntry, value: any) => boolean> = {
  accounts: ({ accounts }, account) => accounts.includes(account),
  offers: ({ offers }, offer) => offers.includes(offer),
  ledgers: ({ ledger }, sequence) => ledger === sequence,
  transactions: (entry, hash) => entry.hash === hash.toLowerCase(),
  operations: ({ id }, operation) => id === operation,
}

/** Which changes of offers name it as well. */
const changed: Record<string, (change: OfferChange, value: any) => boolean> = {
  accounts: ({ record }, account) => record?.['seller'] === account,
  offers: ({ id }, offer) => id === offer,
}

/** Everything that is held, in arrays. */
class History {
  entries: ModelEntry[] = []
  changes: OfferChange[] = []

  append(close: LedgerClose): void {
    this.entries.push(...entriesOf(close))
    this.changes.push(...changesOf(close))
  }

  rollback(sequence: number): void {
    this.entries = this.entries.filter(({ ledger }) => ledger <= sequence)
    this.changes = this.changes.filter(({ ledger }) => ledger <= sequence)
  }

  /** True if a ledger lies before the oldest one held. */
  beginsAfter(sequence: number): boolean {
    const oldest = this.entries[0]?.ledger ?? 0
    return oldest > 1 && sequence < oldest
  }

  /** True if what a path names has ever been there: a record of its own, or, for accounts and offers, any that names it. */
  has(parent: string, value: any): boolean {
    const kind = kinds[parent]
    return (
      this.entries.some((entry) => (kind === undefined || entry.kind === kind) && belongs[parent]!(entry, value)) ||
      this.changes.some((change) => changed[parent]?.(change, value) ?? false)
    )
  }

  /** The offers that rest in the book. */
  book(): Listed[] {
    const live = new Map<bigint, Listed>()
    for (const { id, record } of this.changes) {
      if (record) live.set(id, { record, id, index: 0, token: String(id) })
      else live.delete(id)
    }
    return [...live.values()]
  }

  /** What `now` stands for: the newest record of the kind, or the newest ledger if there is none; for offers the highest id seen. */
  now(asked: string): string {
    const { entries, changes } = this
    const ids = changes.map(({ id }) => id).sort(compare)
    if (asked === 'offers') return String(ids.at(-1) ?? 0)
    const newest = entries.findLast((entry) => entry.kind === kinds[asked] && entry.listed)
    return newest?.token ?? String(orderId(entries.at(-1)?.ledger ?? 0, 0, 0))
  }
}

function badValue(query: QueryName, values: AnyMembers): Refusal | undefined {
  const { name } = pathOf(query)
  return name !== undefined && !isGood[name]!(values[name]) ? bad(name) : undefined
}

function badFilter({ base, counter, offer_id }: AnyMembers): Refusal | undefined {
  if (base !== undefined || counter !== undefined)
    for (const [side, asset] of Object.entries({ base: base ?? {}, counter: counter ?? {} })) {
      const part = badAsset(asset)
      if (part) return bad(`${side}_asset_${part}`)
    }
  return offer_id === undefined || isGood['offer']!(offer_id) ? undefined : bad('offer_id')
}

function badOption({ cursor = '', limit = 10, order = 'asc' }: PageOptions, indexed: boolean): Refusal | undefined {
  if (cursor !== '' && cursor !== 'now' && !cursorOf(cursor, indexed)) return bad('cursor')
  if (!Number.isInteger(limit) || limit < 1 || limit > 200) return bad('limit')
  return order === 'asc' || order === 'desc' ? undefined : bad('order')
}

/** A trade as a pair filter shows it; nothing if it belongs to another pair. */
function throughPair(entry: ModelEntry, { base, counter }: AnyMembers): Listed[] {
  if (base === undefined) return [entry]
  const { record } = entry
  const pair = [assetOf(base.type, base.code, base.issuer), assetOf(counter.type, counter.code, counter.issuer)].join()
  const side = (name: string) => assetOf(record[`${name}_asset_type`], record[`${name}_asset_code`], record[`${name}_asset_issuer`])
  if (pair === [side('base'), side('counter')].join()) return [entry]
  return pair === [side('counter'), side('base')].join() ? [{ ...entry, record: turned(record) }] : []
}

/** A record as a listing shows it; nothing if the listing leaves it out. */
function throughFilters(entry: ModelEntry, asked: string, values: AnyMembers): Listed[] {
  if (asked === 'payments') return isPayment(entry) ? [entry] : []
  if (asked !== 'trades') return [entry]
  const { offer_id } = values
  return offer_id === undefined || entry.offers.includes(offer_id) ? throughPair(entry, values) : []
}

function listIn(history: History, query: QueryName, values: AnyMembers): Listed[] | Refusal {
  const { parent, name, asked } = pathOf(query)
  const wrong = badValue(query, values) ?? (asked === 'trades' ? badFilter(values) : undefined)
  if (wrong) return wrong
  const value = name === undefined ? undefined : values[name]
  if (asked === 'offers')
    return history
      .book()
      .filter(({ record }) => record['seller'] === value)
      .sort(byPosition)
  if (parent === 'ledgers' && history.beginsAfter(value)) return GONE

  const matching = history.entries
    .filter((entry) => entry.kind === kinds[asked] && entry.listed && (parent === undefined || belongs[parent]!(entry, value)))
    .flatMap((entry) => throughFilters(entry, asked, values))
    .sort(byPosition)
  const emptyIsMissing = query === 'effectsOfTransaction' || query === 'effectsOfOperation'
  if (parent !== undefined && (emptyIsMissing ? matching.length === 0 : !history.has(parent, value))) return NOT_FOUND
  return matching
}

function pageIn(history: History, query: QueryName, values: AnyMembers, options: PageOptions): NaivePage | Refusal {
  const { asked } = pathOf(query)
  const { cursor: given = '', limit = 10, order = 'asc' } = options
  const indexed = asked === 'effects' || asked === 'trades'
  const wrong = badValue(query, values) ?? badOption(options, indexed)
  if (wrong) return wrong
  const whole = listIn(history, query, values)
  if (isRefusal(whole)) return whole

  const text = given === 'now' ? history.now(asked) : given
  const cursor = text === '' ? undefined : cursorOf(text, indexed)!
  if (cursor && order === 'desc' && asked !== 'offers' && history.beginsAfter(Number(cursor.id >> 32n))) return GONE
  const side = (one: Listed): number =>
    cursor === undefined ? 0 : compare(one.id, cursor.id) || (cursor.index === undefined ? 0 : compare(BigInt(one.index), cursor.index))
  const ahead = whole.filter((one) => cursor === undefined || (order === 'asc' ? side(one) > 0 : side(one) < 0))
  if (order === 'desc') ahead.reverse()
  const records = ahead.slice(0, limit)
  return {
    records: records.map(({ record }) => record),
    next: records.at(-1)?.token ?? text,
    prev: records[0]?.token ?? text,
    ended: records.length === limit ? 'limit' : 'end',
  }
}

function getIn(history: History, query: QueryName, values: AnyMembers): AnyMembers | undefined | Refusal {
  const wrong = badValue(query, values)
  if (wrong) return wrong
  const { parent, name } = pathOf(query)
  const value = values[name!]
  if (parent === 'accounts') return history.has(parent, value) ? { id: value } : undefined
  if (parent === 'offers') return history.book().find(({ id }) => id === value)?.record
  if (parent === 'ledgers' && history.beginsAfter(value)) return GONE
  return history.entries.find((entry) => entry.kind === kinds[parent!] && belongs[parent!]!(entry, value))?.record
}

export function naiveLedger(closes: Iterable<LedgerClose> = []): NaiveLedger {
  const history = new History()
  for (const close of closes) history.append(close)
  return {
    append: (close) => history.append(close),
    rollback: (sequence) => history.rollback(sequence),
    page: (query, values, options = {}) => pageIn(history, query, values, options),
    get: (query, values) => getIn(history, query, values),
    list: (query, values) => listIn(history, query, values),
    get entries() {
      return history.entries
    },
    get changes() {
      return history.changes
    },
  }
}
