/**
 * What one read asks of the store. What is not answered at once is requested, and the read is run again when it has arrived: reads are pure functions
 * of the store under one head, so running them again changes nothing.
 */

import { type Chunk, isPromise, type KeyRange, type MaybePromise, type ScanOptions, type Store } from '../store.ts'
import { isTurnLong, nextTurn } from '../turn.ts'

/** Names a value within one read. */
type Id = number | string
type Answer = Uint8Array | Chunk | undefined

const nothingArrived: Map<Id, Answer> = new Map()

/** Thrown to suspend a read until what it requested has arrived; never leaves {@link Requests.run}. */
const suspended = Symbol('suspended')

/** What a read cost: for `explain`, and for tests that hold it to a budget. */
export interface ReadStats {
  /** Calls to the store: gets, and scans. */
  gets: number
  scans: number
  /** Value bytes that the store returned. */
  bytes: number
  /** Blocks that the read looked into, from the store or the cache; gathered neighbours count as one. */
  blocks: number
  /** Values found in the cache. */
  hits: number
}

export class Requests {
  readonly stats: ReadStats = { gets: 0, scans: 0, bytes: 0, blocks: 0, hits: 0 }
  private readonly store: Store
  /** Values that arrived for this read alone, so that a small cache cannot lose them before it is run again. */
  private arrived: Map<Id, Answer> = nothingArrived
  private readonly awaited: Promise<unknown>[] = []
  /** Within {@link each}: what the items have missed so far. */
  private missing: Map<Id, Uint8Array> | undefined
  /** Parts that go on where they were when the read is run again. */
  private begun: Map<string, unknown> | undefined

  constructor(store: Store) {
    this.store = store
  }

  /** Runs a read to its end; without a promise if the store answers without one. @param again called before the read is run again */
  run<T>(read: () => T, again: () => void): MaybePromise<T> {
    try {
      return read()
    } catch (error) {
      if (error !== suspended) throw error
      again()
      return Promise.all(this.awaited.splice(0)).then(() => this.run(read, again))
    }
  }

  /**
   * Runs a step for each item. What the steps miss is requested in one call before the read is run again: otherwise a read of many values would be
   * run again for each of them.
   */
  each<T>(items: Iterable<T>, step: (item: T) => void): void {
    if (this.store.capabilities.sync) {
      for (const item of items) step(item)
      return
    }
    const missing = new Map<Id, Uint8Array>()
    let isSuspended = false
    this.missing = missing
    try {
      for (const item of items)
        try {
          step(item)
        } catch (error) {
          if (error !== suspended) throw error
          isSuspended = true
        }
    } finally {
      this.missing = undefined
    }
    if (missing.size > 0) this.getMany(missing)
    // Also if the answers came at once: the steps that missed them have not been taken.
    if (isSuspended) throw suspended
  }

  get(id: Id, key: Uint8Array): Uint8Array | undefined {
    if (this.arrived.has(id)) return this.arrived.get(id) as Uint8Array | undefined
    if (this.missing) {
      this.missing.set(id, key)
      throw suspended
    }
    this.stats.gets++
    const answer = this.store.get(key)
    if (!isPromise(answer)) return this.count(answer)
    this.awaited.push(answer.then((value) => this.arrive(id, this.count(value))))
    throw suspended
  }

  /** Requests values in one call, but for those that have arrived. */
  getMany(keys: ReadonlyMap<Id, Uint8Array>): void {
    const wanted = [...keys].filter(([id]) => !this.arrived.has(id))
    if (wanted.length === 0) return
    if (this.missing) {
      for (const [id, key] of wanted) this.missing.set(id, key)
      throw suspended
    }
    this.stats.gets++
    const answer = this.store.getMany(wanted.map(([, key]) => key))
    const arrive = (values: (Uint8Array | undefined)[]): void => {
      for (const [i, [id]] of wanted.entries()) this.arrive(id, this.count(values[i]))
    }
    if (isPromise(answer)) {
      this.awaited.push(answer.then(arrive))
      throw suspended
    }
    arrive(answer)
  }

  scan(range: KeyRange, options: ScanOptions): Chunk {
    const id = `scan ${range.gte.join()} ${range.lt.join()} ${options.limit} ${options.reverse}`
    if (this.arrived.has(id)) return this.arrived.get(id) as Chunk
    this.stats.scans++
    const answer = this.store.scan(range, options)
    const arrive = (chunk: Chunk): Chunk => {
      for (const [, value] of chunk.entries) this.count(value)
      return chunk
    }
    if (!isPromise(answer)) return arrive(answer)
    this.awaited.push(answer.then((chunk) => this.arrive(id, arrive(chunk))))
    throw suspended
  }

  /** How far a part of the read has got; it begins when that is asked for the first time. @param id names the part within the read */
  progress<T>(id: string, begun: T): T {
    this.begun ??= new Map()
    const known = this.begun.get(id)
    if (known === undefined) this.begun.set(id, begun)
    return (known ?? begun) as T
  }

  /** Suspends the read until the next turn, if this one has been long: others have theirs, and then it is run again. */
  giveWay(): void {
    if (!isTurnLong()) return
    this.awaited.push(nextTurn())
    throw suspended
  }

  private arrive(id: Id, value: Answer): void {
    if (this.arrived === nothingArrived) this.arrived = new Map()
    this.arrived.set(id, value)
  }

  private count(value: Uint8Array | undefined): Uint8Array | undefined {
    this.stats.bytes += value?.length ?? 0
    return value
  }
}
