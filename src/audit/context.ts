/** What the parts of an audit share: the store under its head, what is expected of it, and what could not be read. */
import { Cache } from '../cache/cache.ts'
import { Damage } from '../ingest/damage.ts'
import type { Change, Head } from '../layout/head.ts'
import type { Row } from '../layout/row.ts'
import type { OpenRecord, Resource } from '../query.ts'
import { Reader } from '../scan/reader.ts'
import { Unfiled } from '../scan/unfiled.ts'
import { after, type Entry, type KeyRange, type Store } from '../store.ts'
import type { Findings } from './report.ts'
import { Tally } from './tally.ts'

/** An offer that the book should hold. */
export interface Expected {
  readonly seller: string
  readonly sum: number
  /** Its entry was seen; its seller was seen. */
  entry: boolean
  back: boolean
}

/**
 * Ordinals of a log whose records cannot be read: nothing is said about what names them. **Invariant:** the spans of a log ascend, since it is
 * read from its beginning.
 */
export class Unread {
  private readonly spans = new Map<number, { readonly from: number; readonly to: number }[]>()

  add(tag: number, from: number, to: number): void {
    if (from >= to) return
    const spans = this.spans.get(tag) ?? []
    const last = spans.at(-1)
    if (last?.to === from) spans[spans.length - 1] = { from: last.from, to }
    else spans.push({ from, to })
    this.spans.set(tag, spans)
  }

  has(tag: number, ordinal: number): boolean {
    const spans = this.spans.get(tag)
    if (spans === undefined) return false
    // The first span that ends behind the ordinal.
    let [low, high] = [0, spans.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (spans[middle]!.to <= ordinal) low = middle + 1
      else high = middle
    }
    return low < spans.length && spans[low]!.from <= ordinal
  }

  /** True if there is one, or one below an ordinal. */
  any(tag: number, below = Number.POSITIVE_INFINITY): boolean {
    const first = this.spans.get(tag)?.[0]
    return first !== undefined && first.from < below
  }
}

export class Context {
  readonly store: Store
  readonly head: Head
  /** As the store had it, damaged or not: once it has another one, somebody else has written. */
  storedHead: Uint8Array | undefined
  /** What is unfinished, if that can be read. */
  readonly intent: Change | undefined
  readonly findings: Findings
  readonly reader: Reads
  readonly unread = new Unread()
  /** By log, the first record that is missing from a block that can be read. */
  readonly gaps = new Map<number, number>()
  /** Ledgers of which some record cannot be read, or not as a ledger, or is not the one that was appended. */
  readonly lost = new Set<number>()
  /** Filings: what the records ask for, and what the lists hold. */
  readonly wanted = new Tally()
  readonly filed = new Tally()
  /** Transactions by hash, likewise. */
  readonly wantedHashes = new Tally()
  readonly heldHashes = new Tally()
  /** The book that results from the offer changes. It alone is held whole in memory: what else is noted grows with the damage. */
  readonly book = new Map<string, Expected>()
  /** Offers whose last pruned change could not be read: unless a later change exists, what the book says of them is all there is. */
  readonly unsure = new Set<string>()
  /** Lists of changes of offers that are missing, though the last change that was pruned is there. */
  readonly unlisted: Uint8Array[] = []
  /** Lists of each index that name pruned records. */
  readonly pruned = new Map<number, number>()
  records = 0

  constructor(store: Store, head: Head, findings: Findings, intent?: Change) {
    this.store = store
    this.head = head
    this.intent = intent
    this.findings = findings
    this.reader = readerUnder(store, head)
  }
}

type Reads = Pick<Reader, 'run'>

/**
 * Reads of what is stored under a head, without what waits to be filed. **Invariant:** each is a read of its own, so that nothing but the cache keeps
 * what it was given. That keeps it even if others may write: whoever reads under one head looks whether the store still has that.
 */
export function readerUnder(store: Store, head: Head): Reads {
  const [cache, unfiled] = [new Cache(32 << 20), new Unfiled()]
  return {
    run(read) {
      const reader = new Reader(store, cache, head, unfiled)
      return after(reader.run(read), (found) => {
        reader.confirm()
        return found
      })
    },
  }
}

/** A record by itself, with what it says of where it is filed. */
export interface Recorded {
  readonly resource: Resource
  readonly ordinal: number
  readonly record: OpenRecord
  readonly sides: readonly string[]
}

/** @throws CORRUPT */
export async function recordAt({ reader }: Context, resource: Resource, ordinal: number): Promise<Recorded> {
  return reader.run((read) => {
    const { block, at } = read.at(resource, ordinal)
    return { resource, ordinal, record: block.textBytes(at) > 0 ? block.members(at) : {}, sides: block.sides(at) }
  })
}

/** The same record as a row. @throws CORRUPT */
export const rowAt = async ({ reader }: Context, resource: Resource, ordinal: number): Promise<Row> =>
  reader.run((read) => {
    const { block, at } = read.at(resource, ordinal)
    return block.row(at)
  })

/** What a read of stored values gives; undefined if they are damaged. @throws whatever else the read throws */
export const readable = <T>(read: () => T | Promise<T>): Promise<T | undefined> => new Damage().around(read)

const CHUNK_BYTES = 1 << 20

/** The entries of a range, in order, read in chunks of bounded size. */
export async function* entriesOf(store: Pick<Store, 'scan'>, range: KeyRange): AsyncGenerator<readonly Entry[], void, undefined> {
  let { gte } = range
  for (;;) {
    const { entries, more } = await store.scan({ gte, lt: range.lt }, { limit: 4096, maxBytes: CHUNK_BYTES })
    if (entries.length > 0) yield entries
    if (!more) return
    const last = entries.at(-1)![0]
    gte = new Uint8Array(last.length + 1)
    gte.set(last)
  }
}

/** The same texts and side columns. */
export const sameRow = (a: Row, b: Row): boolean =>
  equalLists(textsOf(a), textsOf(b)) && equalLists(a.sides, b.sides) && a.exact === b.exact

export const textsOf = ({ texts }: Row): string[] => texts.map(({ text }) => text)

const equalLists = (a: readonly string[], b: readonly string[]): boolean => a.length === b.length && a.every((one, at) => one === b[at])
