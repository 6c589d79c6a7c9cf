/** A store that fails when a plan says so: before a write, after applying it, or with the write arriving after the error. */
import { type MemoryDisk, memory, memoryDisk } from '../../adapters/memory/index.ts'
import { hasCode } from '../../src/errors.ts'
import { FolioError, type Store } from '../../src/index.ts'

/**
 * `before`: nothing is applied. `though applied`: all of it is. `after`: the error comes first, and the write some calls later, as with a
 * database over a network. A read that fails just fails.
 */
export const modes = ['before', 'though applied', 'after'] as const
export type Mode = (typeof modes)[number]

/** Says whether a call fails; calls are counted from 1 over all handles of a disk. */
export type Plan = (call: number) => Mode | undefined

interface Late {
  due: number
  readonly apply: () => void
}

/** What several handles are opened over, one after another. */
export class FailingDisk {
  readonly disk: MemoryDisk = memoryDisk()
  plan: Plan
  calls = 0
  failedWrites = 0
  failedReads = 0
  private readonly late: Late[] = []
  private readonly lateBy: number

  constructor(plan: Plan, lateBy = 3) {
    this.plan = plan
    this.lateBy = lateBy
  }

  /** @param deferred whether answers and errors come as promises */
  open(deferred: boolean): Store {
    const store = memory(this.disk)
    const answer = <T>(ask: () => T): T => {
      if (!deferred) return ask()
      return new Promise((resolve) => queueMicrotask(() => resolve(undefined))).then(ask) as T
    }
    const read = <T>(ask: () => T): T => {
      const mode = this.next()
      return answer(() => {
        if (mode === undefined) return ask()
        this.failedReads++
        throw failed(`read ${this.calls}`)
      })
    }
    return {
      capabilities: { ...store.capabilities, name: 'failing', sync: !deferred },
      get: (key) => read(() => store.get(key)),
      getMany: (keys) => read(() => store.getMany(keys)),
      scan: (range, options) => read(() => store.scan(range, options)),
      write: (batch, options) => {
        const mode = this.next()
        const kept = batch.slice()
        const apply = () => store.write(kept, options)
        return answer(() => {
          if (mode === undefined || mode === 'though applied') void apply()
          if (mode === undefined) return
          this.failedWrites++
          if (mode === 'after') this.late.push({ due: this.calls + this.lateBy, apply: () => void memory(this.disk).write(kept, options) })
          throw failed(`write ${this.calls}, ${mode}`)
        })
      },
      close: () => store.close(),
    }
  }

  /** Everything that was still in flight arrives. */
  settle(): void {
    this.arrive(Number.POSITIVE_INFINITY)
  }

  private next(): Mode | undefined {
    this.calls++
    this.arrive(this.calls)
    return this.plan(this.calls)
  }

  private arrive(calls: number): void {
    while (this.late.length > 0 && this.late[0]!.due <= calls) {
      try {
        this.late.shift()!.apply()
      } catch (error) {
        // Another write was faster: the head is no longer what this one expected.
        if (!hasCode(error, 'CONFLICT')) throw error
      }
    }
  }
}

const failed = (what: string): FolioError => new FolioError('STORE_FAILED', { reason: `planned: ${what}` })
