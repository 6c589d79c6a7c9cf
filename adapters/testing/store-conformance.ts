/**
 * The laws of the store contract (`src/store.ts`), as tests that any runner can run: hand each `law.name` and `law.run` to it.
 * Most are properties against a sorted array, checked with fast-check: a failure prints its seed, and `FC_SEED` in the environment repeats it;
 * `FC_RUNS` sets how many cases each property tries.
 *
 * What they write keeps within the `maxKeyBytes` and `maxValueBytes` that a store names. A law about something optional that this store lacks tells
 * the runner to skip it, if the runner passes the test's context to `run` (node:test, vitest); otherwise it passes.
 *
 * Part of the contract, and never tried, since it would take a crash: that a batch is on the disk whole or not at all when the process dies in the
 * middle of a write or the power fails, and that a durable write survives that. Only the rejected writes of `fail` are tried for halves, and what
 * `killed` says is left between writes.
 *
 * Outside the contract, and never tried: the empty key (several stores refuse it; as a lower bound it is legal and means the beginning), writing keys
 * above 258 bytes, and whether `getMany` is one view.
 */
import { OptionRules } from '../../src/check.ts'
import type { Capabilities, Entry, MaybePromise, Store } from '../../src/store.ts'
import { isPromise } from '../../src/store.ts'
import { type Declined, decline, type Law, MILLISECONDS, tellSkipped } from '../check/index.ts'
import { checked, closing, opened, unfailing } from './store-answers.ts'
import { besideLaws } from './store-beside.ts'
import { bufferLaws, formsLaw } from './store-buffers.ts'
import { bulkLaws } from './store-bulk.ts'
import type { MakeLaw } from './store-checks.ts'
import { same, show } from './store-checks.ts'
import { expectLaws } from './store-expect.ts'
import { compactLaw, failureLaw, limitLaw } from './store-extras.ts'
import { killLaws } from './store-kill.ts'
import { closeLaws, leakLaw } from './store-life.ts'
import { bytes, everything, materialFor } from './store-model.ts'
import { noteLaws } from './store-note.ts'
import { overlapLaws } from './store-overlap.ts'
import { orderLaws, scanLaws, valueLaws } from './store-reading.ts'
import { reopenLaw } from './store-reopen.ts'
import { snapshotLaws } from './store-snapshot.ts'
import { batchLaws } from './store-writing.ts'

/** The store under test. */
export interface StoreSubject {
  /** An empty store, a separate one each time. */
  open(): MaybePromise<Store>
  /** Opens again what `store`, now closed, held; it may be one that `reopen` or `killed` gave. Without it, the laws about reopening are skipped. */
  reopen?(store: Store): MaybePromise<Store>
  /** Opens what `store`, which is open, holds a second time, as another process would. Without it, the laws about that are skipped. */
  beside?(store: Store): MaybePromise<Store>
  /**
   * Opens what would be left of `store`, which is open, if its process were killed now: a copy of its files. Called between writes, also for what
   * `reopen` or `killed` gave. Without it, the laws about that are skipped.
   */
  killed?(store: Store): MaybePromise<Store>
  /**
   * Makes whatever `store`, which is open, rests on fail from now on: fills its disk, cuts its connection. Not every call need fail, and the store
   * can still be closed. Without it, the law about that is skipped.
   */
  fail?(store: Store): MaybePromise<unknown>
  /** What the stores must say of themselves, if that is known beforehand. */
  readonly capabilities?: Partial<Capabilities> | undefined
  /**
   * How many resources are held at the moment: descriptors, timers, connections. Default: what Node says of its process; elsewhere the leak law is
   * skipped.
   */
  held?(): MaybePromise<number>
  /** How long a store may leave a call unanswered, in milliseconds. Default 30,000; then its law fails, and names the call. */
  readonly patience?: number | undefined
  /** Laws that this store does not keep, each by a beginning of its name that no other law shares, with the reason. */
  readonly declined?: Declined | undefined
}

const members = new OptionRules<StoreSubject>('storeConformance', {
  open: { needed: 'callback' },
  ...{ reopen: 'callback', beside: 'callback', killed: 'callback', fail: 'callback', held: 'callback' },
  ...{ capabilities: 'object', declined: 'object' },
  patience: MILLISECONDS,
})

/**
 * The laws for a store; each opens stores of its own, and rejects with what was expected and what came.
 * @throws BAD_REQUEST if a member is unknown or wrong
 * @example for (const law of storeConformance({ open: () => new MyStore() })) test(law.name, { skip: law.skip ?? false }, law.run)
 */
export function storeConformance(subject: StoreSubject): Law[] {
  members.check(subject)
  const law: MakeLaw = (name, check, skip) => {
    const run = async (...[context]: readonly unknown[]): Promise<void> => {
      const nothing = await unfailing(async () => {
        const own = await opened('open', () => subject.open(), subject)
        const store = checked(own)
        return closing(store, () => check(store, own))
      }).catch(async (error) => {
        if (error instanceof Error) error.message += await whyNotEmpty(subject)
        throw error
      })
      if (typeof nothing === 'string') tellSkipped(context, nothing)
    }
    return skip === undefined ? { name, run } : { name, run, skip }
  }
  const laws = [
    law('capabilities are what the store does: a synchronous one answers without a promise', async (store) => {
      for (const [name, value] of Object.entries(subject.capabilities ?? {}))
        same(store.capabilities[name as keyof Capabilities], value, `capability ${name}`)
      const { filled } = materialFor(store.capabilities)
      const entries = [0, 10, 5000, 100_000].map((length, n): Entry => [bytes(2, n), filled(length)])
      const answered = async (keys: readonly Uint8Array[], when: string): Promise<void> => {
        const calls: readonly (readonly [string, MaybePromise<unknown>])[] = [
          ...keys.map((key) => [`get of ${show(key)}`, store.get(key)] as const),
          [`getMany of ${show(keys)}`, store.getMany(keys)],
        ]
        await Promise.all(calls.map(([, answer]) => answer))
        if (store.capabilities.sync)
          for (const [call, answer] of calls) same(isPromise(answer), false, `${call}, ${when}: whether the answer is a promise`)
      }
      await answered([bytes(1)], 'which is not held')
      await store.write(entries, { durable: false })
      await answered([bytes(1), ...entries.map(([key]) => key)], 'all but the first held')
    }),
    formsLaw(law),
    ...[orderLaws, scanLaws, valueLaws, batchLaws, overlapLaws, bulkLaws, expectLaws, bufferLaws, closeLaws].flatMap((make) =>
      make(law, subject),
    ),
    reopenLaw(law, subject),
    ...killLaws(law, subject),
    ...besideLaws(law, subject),
    compactLaw(law),
    ...snapshotLaws(law, subject),
    ...noteLaws(law, subject),
    limitLaw(law),
    failureLaw(law, subject),
    leakLaw(subject),
  ]
  return decline(laws, subject.declined)
}

/** What is wrong with the subject if its stores are not empty, which breaks laws that say nothing of it. */
async function whyNotEmpty({ open }: StoreSubject): Promise<string> {
  const first = async (): Promise<Entry | undefined> => {
    const store = await open()
    return closing(store, async () => (await store.scan(everything, { limit: 1 })).entries[0])
  }
  // The store that broke a law may answer nothing at all.
  const patience = new Promise<undefined>((resolve) => setTimeout(resolve, 1000))
  const entry = await Promise.race([first(), patience]).catch(() => undefined)
  return entry ? `\nBesides, open() gives a store that holds ${show(entry[0])}: each must be empty, and a separate one` : ''
}
