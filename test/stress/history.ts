/**
 * What a store must hold: the listings of a network of closes, learned once from a store in memory and checked against the input itself.
 * A ledger under test is compared with the part of them up to its head: every record, every account's lists, every hash, the book.
 */
import { crc32 } from 'node:zlib'
import { generate, generateLines } from '../../adapters/generate/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { hasCode } from '../../src/errors.ts'
import { catalogue, type Ledger, type LedgerClose, type List, openLedger } from '../../src/index.ts'

/** A record of a listing: its ledger, its token, a checksum of its text. */
interface Seen {
  readonly ledger: number
  readonly token: string
  readonly sum: number
}
type Values = Readonly<Record<string, string>>
type Listing = readonly [query: List, values: Values]

const whole = ['ledgers', 'transactions', 'operations', 'payments', 'effects', 'trades'] as const
const ofAccount = ['transactionsOfAccount', 'operationsOfAccount', 'paymentsOfAccount', 'effectsOfAccount', 'tradesOfAccount'] as const
const nameOf = ([{ path }, values]: Listing): string => path.replace(/\{(\w+)\}/, (_, name) => values[name]!)

const sumOf = (text: Uint8Array): number => (crc32 as ((data: Uint8Array) => number) | undefined)?.(text) ?? slowSum(text)
/** For versions whose zlib has no crc32 yet. */
const slowSum = (text: Uint8Array): number => text.reduce((sum, byte) => Math.imul(sum ^ byte, 0x01000193), 0x811c9dc5)

/** Reads a listing to its end. A page that is not full before it is a fault. */
export async function walk(ledger: Ledger, query: List, values: Values, limit = 200): Promise<Seen[]> {
  const seen: Seen[] = []
  for (let cursor = ''; ; ) {
    const page = await ledger.read(query, values, { cursor, limit })
    for (const { block, at } of page.records) seen.push({ ledger: block.hi(at), token: block.token(at), sum: sumOf(block.text(at)) })
    if (page.ended === 'end') return seen
    if (page.records.length !== limit) throw new Error(`a short page of ${page.records.length} in ${query.path}`)
    cursor = page.next
  }
}

export interface Network {
  readonly ledgers: number
  readonly seed: number | string
  readonly accounts?: number
  readonly transactionsPerLedger?: number
}

const optionsOf = ({ accounts = 24, transactionsPerLedger = 6, ...network }: Network) => ({
  ...{ accounts, transactionsPerLedger, envelopeBytes: 120 },
  ...network,
})

/** Removed and changed offers, as the closes state them: the ids of live offers by seller. */
function bookAfter(closes: readonly LedgerClose[]): Map<string, string[]> {
  const sellers = new Map<string, string>()
  for (const { offers } of closes) {
    for (const { id, seller } of offers?.changed ?? []) sellers.set(String(id), seller)
    for (const id of offers?.removed ?? []) sellers.delete(String(id))
  }
  const book = new Map<string, string[]>()
  for (const [id, seller] of sellers) book.set(seller, [...(book.get(seller) ?? []), id])
  for (const ids of book.values()) ids.sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1))
  return book
}

export class History {
  readonly closes: readonly LedgerClose[]
  readonly lines: readonly string[]
  readonly first: number
  readonly accounts: readonly string[]
  private readonly listings: (readonly [listing: Listing, seen: readonly Seen[]])[] = []

  private constructor(closes: readonly LedgerClose[], lines: readonly string[], accounts: readonly string[]) {
    this.closes = closes
    this.lines = lines
    this.first = closes[0]!.ledger.sequence
    this.accounts = accounts
  }

  /** The closes alone, for processes that feed them. */
  static closesOf(network: Network): LedgerClose[] {
    return [...generate(optionsOf(network))] as LedgerClose[]
  }

  static async of(network: Network): Promise<History> {
    const options = optionsOf(network)
    const closes = History.closesOf(network)
    const sources = new Set(closes.flatMap(({ transactions = [] }) => transactions.map(({ account }) => account)))
    const history = new History(closes, [...generateLines(options)], [...sources].sort())
    const ledger = await openLedger(memory())
    await ledger.ingest(closes, { batch: 50 })
    const listings: Listing[] = whole.map((name) => [catalogue[name], {}])
    for (const account of history.accounts) for (const name of ofAccount) listings.push([catalogue[name], { account }])
    for (const listing of listings) history.listings.push([listing, await walk(ledger, ...listing).catch(emptyWhere)])
    history.checkAgainstInput()
    await ledger.close()
    return history
  }

  get last(): number {
    return this.first + this.closes.length - 1
  }

  /** The listings above are worth only as much as the input confirms. */
  private checkAgainstInput(): void {
    const done = this.closes.flatMap(({ transactions = [] }) => transactions.filter(({ successful }) => successful !== false))
    const operations = done.flatMap(({ operations = [] }) => operations)
    const counts = { '/ledgers': this.closes.length, '/transactions': done.length, '/operations': operations.length }
    const effects = operations.reduce((sum, { effects = [] }) => sum + effects.length, 0)
    for (const [path, count] of Object.entries({ ...counts, '/effects': effects }))
      if (this.seen(path).length !== count) throw new Error(`the model of ${path} has ${this.seen(path).length} records of ${count}`)
  }

  /** A listing of the whole network. */
  seen(path: string): readonly Seen[] {
    return this.listings.find(([listing]) => nameOf(listing) === path)![1]
  }

  /**
   * Compares everything that a ledger answers with what it must answer under its head.
   * @param acknowledged the newest ledger that was promised; 0 for none
   * @returns what is wrong
   */
  async check(ledger: Ledger, acknowledged: number): Promise<string[]> {
    const last = ledger.head?.last ?? this.first - 1
    const faults: string[] = []
    if (last < acknowledged) faults.push(`lost: ${acknowledged} was acknowledged, the newest held is ${last}`)
    for (const [listing, seen] of this.listings) {
      const wanted = seen.filter((record) => record.ledger <= last)
      faults.push(...(await compare(ledger, listing, wanted).catch((error) => [`${nameOf(listing)}: ${error}`])))
    }
    faults.push(...(await this.checkHashes(ledger, last)), ...(await this.checkBook(ledger, last)))
    return faults
  }

  private async checkHashes(ledger: Ledger, last: number): Promise<string[]> {
    const faults: string[] = []
    // Around the head all of them, elsewhere some.
    const asked = this.closes.filter(({ ledger: { sequence } }) => Math.abs(sequence - last) < 15 || (sequence + last) % 11 === 0)
    for (const { ledger: close, transactions = [] } of asked)
      for (const { hash } of transactions) {
        const found = await ledger.get(catalogue.transaction, { hash }).catch((error) => String(error))
        const held = typeof found === 'object' && found.hash === hash
        if (held !== close.sequence <= last) faults.push(`half: transaction ${hash} of ${close.sequence}, the head is ${last}: ${found}`)
      }
    return faults
  }

  private async checkBook(ledger: Ledger, last: number): Promise<string[]> {
    const book = bookAfter(this.closes.filter(({ ledger: { sequence } }) => sequence <= last))
    const faults: string[] = []
    for (const account of this.accounts) {
      const wanted = (book.get(account) ?? []).join()
      const listed = await walk(ledger, catalogue.offersOfAccount, { account }).then(tokens, String)
      if (listed !== wanted) faults.push(`half: offers of ${account} at ${last}: ${listed}, expected ${wanted}`)
    }
    return faults
  }
}

const tokens = (seen: readonly Seen[]): string => seen.map(({ token }) => token).join()

/** An account that nothing has affected is not found: as good as empty here. */
function emptyWhere(error: unknown): Seen[] {
  if (hasCode(error, 'NOT_FOUND')) return []
  throw error
}

async function compare(ledger: Ledger, listing: Listing, wanted: readonly Seen[]): Promise<string[]> {
  const seen = await walk(ledger, ...listing).catch(emptyWhere)
  const at = wanted.findIndex(({ token, sum }, i) => seen[i]?.token !== token || seen[i]?.sum !== sum)
  if (at < 0 && seen.length === wanted.length) return []
  const differs = at < 0 ? `${seen.length - wanted.length} records too many` : `${wanted[at]!.token} expected, found ${seen[at]?.token}`
  return [`hole: ${nameOf(listing)} at place ${at < 0 ? wanted.length : at}: ${differs}`]
}
