/**
 * The bell: it says that history has moved, never what is new. A reader takes a ticket, reads, and if nothing was there waits for a ring after
 * its ticket. **Invariant:** a ring between taking a ticket and waiting for it is not lost, because waiting compares numbers.
 */

/** One who may wait: at most once at a time. */
export interface Sleeper {
  wake?: (() => void) | undefined
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
    this.sleepers = new Set()
    for (const sleeper of woken) wake(sleeper)
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
    return count === this.rollbacks.length ? undefined : Math.min(...this.rollbacks.slice(count))
  }

  /** Resolves at the first ring after the ticket was taken, or when the sleeper is roused. */
  after(ticket: number, sleeper: Sleeper): Promise<void> {
    if (this.rings !== ticket || this.silent) return Promise.resolve()
    return new Promise((resolve) => {
      sleeper.wake = resolve
      this.sleepers.add(sleeper)
    })
  }

  /** Wakes one sleeper, ring or no ring. */
  rouse(sleeper: Sleeper): void {
    this.sleepers.delete(sleeper)
    wake(sleeper)
  }

  /** How many wait. */
  get waiting(): number {
    return this.sleepers.size
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

function wake(sleeper: Sleeper): void {
  const { wake } = sleeper
  sleeper.wake = undefined
  wake?.()
}
