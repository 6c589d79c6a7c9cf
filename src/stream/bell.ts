/**
 * The bell: it says that history has moved, never what is new. Whoever follows history takes a ticket, reads, and if nothing was there sleeps
 * until a ring after the ticket. **Invariants:** a ring between taking a ticket and going to sleep is not lost, because going to sleep compares
 * numbers; who is woken is woken in a turn of its own, so that what they do neither holds up nor breaks the write that rang.
 */

import { FolioError } from '../errors.ts'

export interface Sleeper {
  /** Tails that sleep here. */
  readonly size: number
  /** Must not throw. */
  wake(): void
}

export class Bell {
  private rings = 0
  private sleepers = new Set<Sleeper>()
  private silent = false
  /** Where history went back to, a number for each rollback. */
  private readonly rollbacks: number[] = []

  /** A ticket for {@link after}: take it before reading. */
  ticket(): number {
    return this.rings
  }

  ring(): void {
    this.rings++
    const woken = this.sleepers
    if (woken.size === 0) return
    this.sleepers = new Set()
    queueMicrotask(() => {
      for (const sleeper of woken) sleeper.wake()
    })
  }

  /** Rings for a rollback to the ledger `last`. */
  rolledBack(last: number): void {
    this.rollbacks.push(last)
    this.ring()
  }

  /** Rollbacks so far. */
  get rollbackCount(): number {
    return this.rollbacks.length
  }

  /** The lowest ledger that history went back to since there were `count` rollbacks; undefined where it did not. */
  lowestSince(count: number): number | undefined {
    let lowest: number | undefined
    for (let i = count; i < this.rollbacks.length; i++) lowest = Math.min(lowest ?? Number.POSITIVE_INFINITY, this.rollbacks[i]!)
    return lowest
  }

  /** Of reads one after the other, each told how far was given before it. @throws ROLLED_BACK where history was taken back below that since the last one */
  watch(): <A, T>(reached: number, read: (from: A) => T) => (from: A) => T {
    let count = this.rollbackCount
    return (reached, read) => (from) => {
      const last = this.lowestSince(count)
      if (last !== undefined && last < reached) throw new FolioError('ROLLED_BACK', { last, reached })
      count = this.rollbackCount
      return read(from)
    }
  }

  /** Wakes the sleeper at the first ring after the ticket was taken: soon, where that has been. */
  after(ticket: number, sleeper: Sleeper): void {
    if (this.rings === ticket && !this.silent) this.sleepers.add(sleeper)
    else queueMicrotask(() => sleeper.wake())
  }

  /** Lets a sleeper go unwoken. */
  forget(sleeper: Sleeper): void {
    this.sleepers.delete(sleeper)
  }

  /** How many tails sleep. */
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
