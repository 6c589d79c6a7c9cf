/** Streams that each break one law: what they do, and the law that rejects them. */
import { Feed, type Item } from './feed.ts'

type Items = AsyncGenerator<Item, void, undefined>
type Iterator = AsyncIterator<Item, void, undefined>

/** A feed in which each stream has its own queue, filled as records are appended. */
class Queued extends Feed {
  readonly queues = new Set<Item[]>()

  override async append(count: number): Promise<void> {
    await this.step()
    const begin = this.items.length
    for (let n = 0; n < count; n++) this.items.push({ id: begin + n + 1 })
    for (const queue of this.queues) this.deliver(queue, this.items.slice(begin))
    this.ring()
  }

  deliver(queue: Item[], items: readonly Item[]): void {
    queue.push(...items)
  }

  async *drain(queue: Item[], stopped: AbortSignal): Items {
    for (;;) {
      const heard = this.rings
      for (let item = queue.shift(); item; item = queue.shift()) {
        if (stopped.aborted) return
        yield item
      }
      if (this.closed || stopped.aborted) return
      await this.rung(heard, stopped)
    }
  }

  async *history(position: number): Items {
    const page = this.items.filter(({ id }) => id > position)
    await this.step()
    yield* page
  }
}

const [FIRST, AFTER, NOW, LARGE, MANY, PULLS, STOP, CLOSE] = [
  'a stream delivers what is there',
  'a stream after a record',
  'a stream from now',
  'more records at once',
  'many streams at once',
  'pulls that do not wait',
  'a stream that is aborted',
  'closing ends',
] as const

export const faultyStreams: readonly (readonly [law: string, fault: string, Source: new (step: () => Promise<void>) => Feed])[] = [
  [
    FIRST,
    'sleeps through what is appended between its last read and its sleep',
    class extends Feed {
      override rung(_: number, stopped: AbortSignal): Promise<void> {
        return super.rung(this.rings, stopped)
      }
    },
  ],
  [
    FIRST,
    'subscribes to the live feed after it has read the history',
    class extends Queued {
      override async *read(position: number, stopped: AbortSignal): Items {
        yield* this.history(position)
        const queue: Item[] = []
        this.queues.add(queue)
        yield* this.drain(queue, stopped)
      }
    },
  ],
  [
    FIRST,
    'subscribes to the live feed before it reads the history, and delivers the overlap twice',
    class extends Queued {
      override async *read(position: number, stopped: AbortSignal): Items {
        const queue: Item[] = []
        this.queues.add(queue)
        await this.step()
        yield* this.history(position)
        yield* this.drain(queue, stopped)
      }
    },
  ],
  [
    FIRST,
    'edits records in place that it delivered before',
    class extends Feed {
      override async append(count: number): Promise<void> {
        await super.append(count)
        Object.assign(this.items[0]!, { edits: this.rings })
      }
    },
  ],
  [
    FIRST,
    'delivers records with a date that is not theirs',
    class extends Feed {
      override records(): readonly Item[] {
        return super.records().map((item) => ({ ...item, at: new Date(item.id) }))
      }
      override async *read(position: number, stopped: AbortSignal): Items {
        for await (const item of super.read(position, stopped)) yield { ...item, at: new Date(0) } as Item
      }
    },
  ],
  [
    FIRST,
    'ends when it has caught up',
    class extends Feed {
      override async *read(position: number): Items {
        for (let page = await this.page(position); page.length > 0; page = await this.page(page.at(-1)!.id)) yield* page
      }
    },
  ],
  [
    FIRST,
    'delivers the records of a page newest first',
    class extends Feed {
      override async *read(position: number, stopped: AbortSignal): Items {
        for await (const item of super.read(position, stopped)) yield this.items[this.items.length - item.id] ?? item
      }
    },
  ],
  [
    FIRST,
    'moves its cursor to the newest record, whatever the page held',
    class extends Feed {
      override async *read(position: number, stopped: AbortSignal): Items {
        for (let at = position; !this.closed && !stopped.aborted; ) {
          const heard = this.rings
          yield* await this.page(at)
          at = this.positionOf('now')
          await this.rung(heard, stopped)
        }
      }
    },
  ],
  [
    FIRST,
    'delivers only the newest of several records that come at once',
    class extends Feed {
      override async page(after: number): Promise<readonly Item[]> {
        return (await super.page(after)).slice(-1)
      }
    },
  ],
  [
    FIRST,
    'repeats the last record whenever it wakes',
    class extends Feed {
      override async page(after: number): Promise<readonly Item[]> {
        const page = await super.page(after)
        return page.length > 0 && after > 0 ? super.page(after - 1) : page
      }
    },
  ],
  [
    FIRST,
    'fails if something is appended while it reads',
    class extends Feed {
      override async page(after: number): Promise<readonly Item[]> {
        const { rings } = this
        const page = await super.page(after)
        if (this.rings !== rings) throw new Error('the history has moved')
        return page
      }
    },
  ],
  [
    FIRST,
    'delivers its last record over and over',
    class extends Feed {
      override async page(after: number) {
        return super.page(Math.min(after, this.items.length - 1))
      }
    },
  ],
  [
    AFTER,
    'delivers the record of its cursor again',
    class extends Feed {
      override positionOf(cursor: string): number {
        return cursor === 'now' || cursor === '' ? super.positionOf(cursor) : Number(cursor) - 1
      }
    },
  ],
  [
    AFTER,
    'skips a record if its cursor is that of the newest one',
    class extends Feed {
      override positionOf(cursor: string): number {
        const position = super.positionOf(cursor)
        return cursor !== 'now' && position > 0 && position === this.items.length ? position + 1 : position
      }
    },
  ],
  [
    NOW,
    'takes `now` for the time of the first pull',
    class extends Feed {
      override stream(cursor: string, signal: AbortSignal): Iterator {
        let made: Iterator | undefined
        const items = (): Iterator => (made ??= super.stream(cursor, signal))
        return { next: () => items().next(), return: () => items().return!() }
      }
    },
  ],
  [
    NOW,
    'begins a stream from `now` with the newest record that was there',
    class extends Feed {
      override positionOf(cursor: string): number {
        return super.positionOf(cursor) - (cursor === 'now' && this.items.length > 0 ? 1 : 0)
      }
    },
  ],
  [
    NOW,
    'skips the first record of a stream from `now` over an empty list',
    class extends Feed {
      override positionOf(cursor: string): number {
        return cursor === 'now' && this.items.length === 0 ? 1 : super.positionOf(cursor)
      }
    },
  ],
  [
    LARGE,
    'waits after a full page, as if that were the end',
    class extends Feed {
      override async *read(position: number, stopped: AbortSignal): Items {
        for (let at = position; !this.closed && !stopped.aborted; ) {
          const heard = this.rings
          const page = await this.page(at)
          yield* page
          at = page.at(-1)?.id ?? at
          await this.rung(heard, stopped)
        }
      }
    },
  ],
  [
    LARGE,
    'keeps no more than 300 records for a slow reader',
    class extends Queued {
      override async *read(position: number, stopped: AbortSignal): Items {
        const queue = this.items.filter(({ id }) => id > position)
        this.queues.add(queue)
        yield* this.drain(queue, stopped)
      }
      override deliver(queue: Item[], items: readonly Item[]): void {
        queue.push(...items)
        queue.splice(0, queue.length - 300)
      }
    },
  ],
  [
    MANY,
    'wakes only one of the streams that wait',
    class extends Feed {
      override wake(): void {
        const [first] = this.sleepers
        if (first) this.sleepers.delete(first)
        first?.()
      }
    },
  ],
  [
    MANY,
    'lets two readers share one place',
    class extends Feed {
      shared: Items | undefined
      override read(position: number, stopped: AbortSignal): Items {
        if (position > 0) return super.read(position, stopped)
        this.shared ??= super.read(position, stopped)
        return this.shared
      }
    },
  ],
  [
    PULLS,
    'answers two pulls at once with the same record',
    class extends Feed {
      override stream(cursor: string, signal: AbortSignal): Iterator {
        const items = super.stream(cursor, signal)
        let pending: Promise<IteratorResult<Item, void>> | undefined
        return {
          next: () => {
            pending ??= items.next().finally(() => {
              pending = undefined
            })
            return pending
          },
          return: () => items.return!(),
        }
      }
    },
  ],
  [
    STOP,
    'is not woken by an abort',
    class extends Feed {
      override stream(cursor: string): Iterator {
        return super.stream(cursor, new AbortController().signal)
      }
    },
  ],
  [
    STOP,
    'does not notice a signal that had aborted before it began',
    class extends Feed {
      override stoppable(signal: AbortSignal, begin: (stopped: AbortSignal) => Items): Iterator {
        const late = new AbortController()
        signal.addEventListener('abort', () => late.abort())
        return super.stoppable(late.signal, begin)
      }
    },
  ],
  [
    STOP,
    'never answers its return',
    class extends Feed {
      override stream(cursor: string, signal: AbortSignal): Iterator {
        const items = super.stream(cursor, signal)
        return {
          next: () => items.next(),
          return: () => {
            void items.return!()
            return new Promise(() => {})
          },
        }
      }
    },
  ],
  [
    STOP,
    'waits if it is pulled after its end',
    class extends Feed {
      override stream(cursor: string, signal: AbortSignal): Iterator {
        const items = super.stream(cursor, signal)
        let isOver = false
        return {
          next: async () => {
            if (isOver) return new Promise(() => {})
            const item = await items.next()
            isOver = item.done === true
            return item
          },
          return: () => items.return!(),
        }
      }
    },
  ],
  [
    CLOSE,
    'waits if it begins after the close',
    class extends Feed {
      override stream(cursor: string, signal: AbortSignal): Iterator {
        if (!this.closed) return super.stream(cursor, signal)
        return { next: () => new Promise(() => {}), return: async () => ({ done: true, value: undefined }) }
      }
    },
  ],
  [
    STOP,
    'is not returned until the next record comes',
    class extends Feed {
      override stoppable(signal: AbortSignal, begin: (stopped: AbortSignal) => Items): Iterator {
        return begin(signal)
      }
    },
  ],
  [
    STOP,
    'stops all streams with the first one',
    class extends Feed {
      readonly stop = new AbortController()
      override stoppable(signal: AbortSignal, begin: (stopped: AbortSignal) => Items): Iterator {
        signal.addEventListener('abort', () => this.stop.abort(), { once: true })
        return super.stoppable(this.stop.signal, begin)
      }
    },
  ],
  [
    CLOSE,
    'does not wake streams that wait when it is closed',
    class extends Feed {
      override close(): void {
        this.closed = true
      }
    },
  ],
]
