/** Streams: a tail as an async iterator, of pages or of what is in them. */
import { badRequest, OptionRules } from '../check.ts'
import type { List } from '../query.ts'
import { CURSOR, pointed, type RawPage } from '../scan/page.ts'
import type { Subscription, Taker } from './tail.ts'

export interface StreamOptions {
  /** Start after this paging token; `now` for what comes after the call. Default: the earliest record. */
  readonly cursor?: string | undefined
  /** Ends the stream quietly when it aborts. */
  readonly signal?: AbortSignal | undefined
}

const tailOptions = new OptionRules<StreamOptions>('a stream', { cursor: CURSOR, signal: 'signal' })

/** @throws BAD_REQUEST if the list never grows, or an option is unknown or wrong */
export function checkTail(query: List, options: StreamOptions): { readonly cursor: string; readonly signal: AbortSignal | undefined } {
  if (!query.live) throw badRequest('query', 'a row of the catalogue that may be streamed')
  const { cursor = '', signal } = tailOptions.check(options)
  pointed(cursor, query.of)
  return { cursor, signal }
}

/** An async iterator of pages or records that also ends with `return()`, with its signal, and with `await using`. */
export interface Stream<T> extends AsyncIterableIterator<T, void, undefined> {
  return(): Promise<IteratorResult<T, void>>
  [Symbol.asyncIterator](): Stream<T>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Has a generator end with `using` or `await using`, as every one does from Node 24 on.
 * @returns the same generator
 */
export function disposable<G extends AsyncGenerator | Generator>(generator: G): G {
  const isAsync = Symbol.asyncIterator in generator
  const name: symbol | undefined = isAsync ? Symbol.asyncDispose : Symbol.dispose
  // Older browsers have no such symbol.
  if (name === undefined || name in generator) return generator
  const end = () => generator.return(undefined)
  const value = isAsync ? async () => void (await end()) : () => void end()
  return Object.defineProperty(generator, name, { value, configurable: true, writable: true })
}

interface Asked<T> {
  resolve(result: IteratorResult<T, void>): void
  reject(error: unknown): void
}

/** What an iterator gives. Of a class: V8 may take the objects of a literal for long-lived, and then a walk spends half of its time collecting them. */
export class Item<T> {
  readonly done = false
  readonly value: T

  constructor(value: T) {
    this.value = value
  }
}

/** What an iterator gives after its end. */
export const done = { done: true, value: undefined } as const
const nothing: readonly never[] = []

/** What `split` makes of each page, shown by `give`, one item per pull. Overlapping pulls are answered in order. */
export class TailStream<I, T> implements Stream<T>, Taker {
  private readonly tail: Subscription
  private readonly split: (page: RawPage) => readonly I[]
  private readonly give: (item: I) => T
  private items: readonly I[] = nothing
  private at = 0
  private asked: Asked<T>[] = []

  constructor(tail: Subscription, split: (page: RawPage) => readonly I[], give: (item: I) => T) {
    this.tail = tail
    this.split = split
    this.give = give
  }

  next(): Promise<IteratorResult<T, void>> {
    return new Promise((resolve, reject) => {
      this.asked.push({ resolve, reject })
      if (this.asked.length === 1) this.answer()
    })
  }

  /** Answers pulls from what is at hand, and pulls the tail for the rest. */
  private answer(): void {
    while (this.asked.length > 0) {
      if (this.tail.ended) return void this.end()
      if (this.at === this.items.length) return void this.tail.pull(this)
      try {
        const value = this.give(this.items[this.at]!)
        this.at++
        this.asked.shift()!.resolve(new Item(value))
      } catch (error) {
        this.fail(error)
        this.tail.stop()
      }
    }
  }

  page(page: RawPage): void {
    this.items = this.split(page)
    this.at = 0
    this.answer()
  }

  end(): void {
    this.items = nothing
    this.at = 0
    for (const { resolve } of this.asked.splice(0)) resolve(done)
  }

  fail(error: unknown): void {
    this.asked.shift()?.reject(error)
    this.end()
  }

  async return(): Promise<IteratorResult<T, void>> {
    this.tail.stop()
    this.end()
    return done
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }
}
