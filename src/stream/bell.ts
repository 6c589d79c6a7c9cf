/**
 * The bell: it says that history has moved, never what is new. A follower takes a ticket, reads, and if nothing was there sleeps until a ring after
 * the ticket. **Invariants:** a ring between taking a ticket and going to sleep is not lost, because going to sleep compares numbers; sleepers are
 * woken in a turn of their own, so that what they do neither delays nor breaks the write that rang.
 */

import { FolioError } from '../errors.ts'
import { isTurnLong, queueMicrotask, soon } from '../turn.ts'

export interface Sleeper {
  /** Tails that sleep here. */
  readonly size: number
  /** Must not throw. */
  wake(): void
}

/** What keeps the process alive, if it is told to. */
interface Timer {
  ref(): unknown
  unref(): unknown
}

export class Bell {
  private keeper: Timer | undefined
  private rings = 0
  private sleepers = new Set<Sleeper>()
  private silent = false
  private rolled = 0
  /**
   * Rollbacks, in their order: which one it was, and the ledger to which history went back. Those since when a rollback went as far back are left out,
   * so these ledgers rise.
   */
  private readonly rollbacks: { readonly number: number; readonly last: number }[] = []

  /** Has a timer keep the process alive while somebody sleeps, and only then: where another process may append what they wait for. */
  keepBy(timer: Timer | number): void {
    // Elsewhere than in Node it is a number, and keeps nothing alive.
    if (typeof timer === 'number') return
    this.keeper = timer
    if (this.sleepers.size === 0) timer.unref()
  }

  /** A ticket for {@link after}: take it before reading. */
  ticket(): number {
    return this.rings
  }

  ring(): void {
    this.rings++
    const woken = this.sleepers
    if (woken.size === 0) return
    this.sleepers = new Set()
    this.keeper?.unref()
    queueMicrotask(() => {
      for (const sleeper of woken) sleeper.wake()
    })
  }

  /** Rings for a rollback to the ledger `last`. */
  rolledBack(last: number): void {
    const { rollbacks } = this
    while (rollbacks.length > 0 && rollbacks.at(-1)!.last >= last) rollbacks.pop()
    rollbacks.push({ number: ++this.rolled, last })
    this.ring()
  }

  /** Rollbacks so far. */
  get rollbackCount(): number {
    return this.rolled
  }

  /** The lowest ledger to which history went back since there were `count` rollbacks; undefined if it did not. */
  lowestSince(count: number): number | undefined {
    let lowest: number | undefined
    // From the newest on: most who ask know all but a few.
    for (let at = this.rollbacks.length - 1; at >= 0 && this.rollbacks[at]!.number > count; at--) lowest = this.rollbacks[at]!.last
    return lowest
  }

  /**
   * Wraps successive reads, each told how far the previous ones got. @throws ROLLED_BACK if history was rolled back below that since the last read
   */
  watch(): <A, T>(reached: number, read: (from: A) => T) => (from: A) => T {
    let count = this.rollbackCount
    return (reached, read) => (from) => {
      const last = this.lowestSince(count)
      if (last !== undefined && last < reached) throw new FolioError('ROLLED_BACK', { last, reached })
      count = this.rollbackCount
      return read(from)
    }
  }

  /** Wakes the sleeper at the first ring after the ticket was taken; soon, if that has already happened. */
  after(ticket: number, sleeper: Sleeper): void {
    if (this.rings === ticket && !this.silent) {
      this.sleepers.add(sleeper)
      this.keeper?.ref()
      return
    }
    const wake = (): void => sleeper.wake()
    // Whoever catches up comes here page after page.
    if (isTurnLong()) soon(wake)
    else queueMicrotask(wake)
  }

  /** Removes a sleeper without waking it. */
  forget(sleeper: Sleeper): void {
    this.sleepers.delete(sleeper)
    if (this.sleepers.size === 0) this.keeper?.unref()
  }

  /** How many tails are asleep. */
  get waiting(): number {
    let waiting = 0
    for (const { size } of this.sleepers) waiting += size
    return waiting
  }

  get isSilent(): boolean {
    return this.silent
  }

  /** Wakes everyone for the last time. */
  silence(): void {
    this.silent = true
    this.ring()
  }
}
