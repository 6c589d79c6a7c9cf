/** The simplest stream over an array that keeps the laws. Faulty streams replace its parts. */
import type { StreamSource } from '../../adapters/testing/index.ts'

export interface Item {
  readonly id: number
}

export class Feed implements StreamSource<Item> {
  readonly items: Item[] = []
  readonly now: string = 'now'
  rings = 0
  sleepers = new Set<() => void>()
  closed = false
  readonly step: () => Promise<void>

  constructor(step: () => Promise<void>) {
    this.step = step
  }

  records(): readonly Item[] {
    return [...this.items]
  }

  token({ id }: Item): string {
    return String(id)
  }

  async append(count: number): Promise<void> {
    await this.step()
    for (let n = 0; n < count; n++) this.items.push({ id: this.items.length + 1 })
    this.ring()
  }

  ring(): void {
    this.rings++
    this.wake()
  }

  wake(): void {
    const woken = [...this.sleepers]
    this.sleepers.clear()
    for (const wake of woken) wake()
  }

  /** Waits for a ring later than the last one heard. */
  rung(heard: number, stopped: AbortSignal): Promise<void> {
    if (this.rings !== heard || this.closed || stopped.aborted) return Promise.resolve()
    return this.sleep(stopped)
  }

  sleep(stopped: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.sleepers.add(resolve)
      stopped.addEventListener('abort', () => resolve(), { once: true })
    })
  }

  async page(after: number): Promise<readonly Item[]> {
    const page = this.items.filter(({ id }) => id > after).slice(0, 200)
    await this.step()
    return page
  }

  positionOf(cursor: string): number {
    return cursor === 'now' ? (this.items.at(-1)?.id ?? 0) : Number(cursor)
  }

  async *read(position: number, stopped: AbortSignal): AsyncGenerator<Item, void, undefined> {
    for (let at = position; ; ) {
      const heard = this.rings
      const page = await this.page(at)
      for (const item of page) {
        if (stopped.aborted) return
        at = item.id
        yield item
      }
      if (this.closed || stopped.aborted) return
      if (page.length === 0) await this.rung(heard, stopped)
    }
  }

  stream(cursor: string, signal: AbortSignal): AsyncIterator<Item, void, undefined> {
    return this.stoppable(signal, (stopped) => this.read(this.positionOf(cursor), stopped))
  }

  /** A generator that waits cannot be returned, so it is woken. */
  stoppable(
    signal: AbortSignal,
    begin: (stopped: AbortSignal) => AsyncGenerator<Item, void, undefined>,
  ): AsyncIterator<Item, void, undefined> {
    const stop = new AbortController()
    signal.addEventListener('abort', () => stop.abort(), { once: true })
    // It may have aborted before, and then it says so no more.
    if (signal.aborted) stop.abort()
    const items = begin(stop.signal)
    return {
      next: () => items.next(),
      return: () => {
        stop.abort()
        return items.return()
      },
    }
  }

  close(): void {
    this.closed = true
    this.wake()
  }
}
