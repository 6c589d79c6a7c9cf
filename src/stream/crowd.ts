/**
 * Crowds: tails of one list that stand at one place wait together. A ring wakes the crowd, which reads once and hands what it found to each of its
 * tails in a plain loop; if nothing was found, it goes back to sleep, and no tail has noticed.
 * **Invariants:** the ticket is taken before the read; nothing lies between the cursor of a tail and that of the crowd it waits in; a crowd can be
 * found by its place as long as a tail waits in it, and only by its own place; after a rollback no crowd goes on, and each tail looks for its place
 * anew.
 */
import { hasCode } from '../errors.ts'
import type { Head } from '../layout/head.ts'
import { MAX_LIMIT } from '../params.ts'
import { endOfLedger, parseCursor } from '../position.ts'
import type { Listing } from '../scan/listing.ts'
import { newestLedger, type PageOptions, type RawPage } from '../scan/page.ts'
import { isPromise, type MaybePromise } from '../store.ts'
import { queueMicrotask } from '../turn.ts'
import type { Bell, Sleeper } from './bell.ts'
import { throughOf } from './pruned.ts'

/** What crowds need from the ledger to which they belong. */
export interface StreamSource {
  readonly bell: Bell
  readonly head: Head
  read<R>(listing: Listing<R>, options: PageOptions): MaybePromise<RawPage<R>>
  /** Resolves when what is being appended, rolled back or pruned now has rung the bell. */
  settled(): Promise<void>
}

/** A listing that streams follow. */
export interface Followed {
  readonly listing: Listing
  /** Equal for equal listings. */
  readonly key: string
}

export function followed(listing: Listing): Followed {
  const { query, values } = listing
  const said = JSON.stringify(values, (_, value) => (typeof value === 'bigint' ? String(value) : value))
  return { listing, key: `${query.path} ${said} ` }
}

/** A tail as its crowd sees it. */
export interface Member {
  /** What its path names was found once. If it is pruned away, there is nothing to give until it comes up again. */
  isKnown: boolean
  /** Receives the page after its cursor, and then stands where the crowd does; `reached` is the newest ledger in the page. */
  take(page: RawPage, crowd: Crowd, reached: number): void
  /** History was pruned: fails if something may be gone that it was not given, though nothing up to ledger `through` is. */
  pruned(through: number): void
  /** Continues to wait in this crowd. */
  enter(crowd: Crowd): void
  /** Looks for its place again: history was rolled back, or the ledger closed. */
  again(): void
  fail(error: unknown): void
  /** Ends without a word. */
  drop(): void
}

export class Crowd implements Sleeper {
  /** How many pages it has handed over. A tail that has entered it, or was given a page by it, stands at its place until the next one. */
  deliveries = 0
  readonly list: Followed
  private readonly crowds: Crowds
  private tails = new Set<Member>()
  private cursor: string
  /** The ticket as of which nothing lies after the cursor; -1 if that is not known. */
  private ticket = -1
  /** The newest ledger of which nothing lies after the cursor, as far as known. */
  through: number
  /** The oldest ledger held when that was last compared with it. */
  private oldest: number
  private rollbacks: number
  private reading = false
  /** What its path names was found. */
  private isKnown = false

  constructor(crowds: Crowds, list: Followed, cursor: string) {
    this.crowds = crowds
    this.list = list
    this.cursor = cursor
    this.through = throughOf(list.listing.query.of, cursor)
    this.oldest = crowds.source.head.oldest
    this.rollbacks = crowds.source.bell.rollbackCount
  }

  get size(): number {
    return this.tails.size
  }

  get place(): string {
    return this.list.key + this.cursor
  }

  /** This crowd, or the one that has come to its place while nobody waited here. */
  standing(): Crowd {
    return this.tails.size > 0 ? this : this.crowds.enter(this)
  }

  join(tail: Member): void {
    this.tails.add(tail)
    if (this.isKnown) tail.isKnown = true
    else if (tail.isKnown) this.know()
    if (this.tails.size === 1 && !this.reading) this.crowds.source.bell.after(this.ticket, this)
  }

  private know(): void {
    this.isKnown = true
    for (const tail of this.tails) tail.isKnown = true
  }

  leave(tail: Member): void {
    if (this.tails.delete(tail) && this.tails.size === 0) this.disband()
  }

  /** Everyone who waits here; from now on nobody does. */
  private disband(): Set<Member> {
    const { tails } = this
    this.tails = new Set()
    this.crowds.source.bell.forget(this)
    this.crowds.remove(this)
    return tails
  }

  wake(): void {
    if (this.reading || this.tails.size === 0) return
    const { source } = this.crowds
    const { bell } = source
    if (bell.isSilent || bell.rollbackCount !== this.rollbacks) return void this.scatter()
    const ticket = bell.ticket()
    const { last } = source.head
    let page: MaybePromise<RawPage>
    try {
      page = source.read(this.list.listing, { cursor: this.cursor, limit: MAX_LIMIT })
    } catch (error) {
      return void this.refused(error, ticket, last)
    }
    if (!isPromise(page)) return void this.found(page, ticket, last)
    this.reading = true
    page.then(
      (come) => {
        this.reading = false
        this.found(come, ticket, last)
      },
      (error) => {
        this.reading = false
        this.refused(error, ticket, last)
      },
    )
  }

  private refused(error: unknown, ticket: number, last: number): void {
    if (this.isKnown && hasCode(error, 'NOT_FOUND')) this.found(undefined, ticket, last)
    else this.failed(error)
  }

  /** @param page undefined if what the path names was pruned away */
  private found(page: RawPage | undefined, ticket: number, last: number): void {
    const { bell } = this.crowds.source
    if (bell.isSilent || bell.rollbackCount !== this.rollbacks) return void this.scatter()
    // Before it is known: whoever goes from the start has missed nothing so far.
    this.comparePruned()
    if (!this.isKnown) this.know()
    if (page === undefined || page.count === 0) {
      this.ticket = ticket
      this.through = Math.max(this.through, last)
      // All who waited have left meanwhile; a tail that comes back enters the crowd again.
      if (this.tails.size === 0) return
      if (this.advance(last)) bell.after(ticket, this)
      return
    }
    const tails = this.disband()
    this.deliveries++
    this.cursor = page.next
    this.ticket = page.ended === 'end' ? ticket : -1
    this.through = Math.max(throughOf(this.list.listing.query.of, this.cursor), page.ended === 'end' ? last : 0)
    const reached = newestLedger(page)
    each(tails, (tail) => tail.take(page, this, reached))
  }

  /** What was read may begin after a gap that pruning has made. */
  private comparePruned(): void {
    const { oldest } = this.crowds.source.head
    if (oldest === this.oldest) return
    this.oldest = oldest
    each([...this.tails], (tail) => tail.pruned(this.through))
  }

  /**
   * Nothing lies after the cursor up to the end of ledger `last`, so the crowd stands there. This is how crowds from different places meet.
   * @returns false if this crowd was merged into another one
   */
  private advance(last: number): boolean {
    const { query } = this.list.listing
    if (query.of.kept !== 'log' || (this.cursor !== '' && parseCursor(this.cursor, query.of.indexed).hi > last)) return true
    this.crowds.remove(this)
    this.cursor = endOfLedger(last)
    this.through = Math.max(this.through, last)
    const there = this.crowds.enter(this)
    if (there === this) return true
    for (const tail of this.disband()) tail.enter(there)
    return false
  }

  /** What was being read may have been rolled back meanwhile: then the error is not what to report. */
  private failed(error: unknown): void {
    const { bell, settled } = this.crowds.source
    this.reading = true
    void settled().then(() => {
      this.reading = false
      if (bell.isSilent || bell.rollbackCount !== this.rollbacks) this.scatter()
      else each(this.disband(), (tail) => tail.fail(error))
    })
  }

  private scatter(): void {
    each(this.disband(), (tail) => tail.again())
  }
}

/** Tells each of these tails; one whose taker throws ends, and its error is reported as uncaught, but the others are told all the same. */
export function each<T extends Member>(tails: Iterable<T>, tell: (tail: T) => void): void {
  for (const tail of tails)
    try {
      tell(tail)
    } catch (error) {
      tail.drop()
      queueMicrotask(() => {
        throw error
      })
    }
}

/** The crowds of a ledger, by their places. */
export class Crowds {
  readonly source: StreamSource
  private readonly byPlace = new Map<string, Crowd>()

  constructor(source: StreamSource) {
    this.source = source
  }

  at(list: Followed, cursor: string): Crowd {
    return this.byPlace.get(list.key + cursor) ?? this.enter(new Crowd(this, list, cursor))
  }

  /** The crowd that stands where this one does: another one that came first, or this one. */
  enter(crowd: Crowd): Crowd {
    const { place } = crowd
    const held = this.byPlace.get(place)
    if (held === undefined) this.byPlace.set(place, crowd)
    return held ?? crowd
  }

  remove(crowd: Crowd): void {
    const { place } = crowd
    if (this.byPlace.get(place) === crowd) this.byPlace.delete(place)
  }
}
