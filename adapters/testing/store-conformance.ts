/**
 * The laws of the store contract (`src/store.ts`), as tests that any runner can run: hand each `law.name` and `law.run` to it.
 * Most are properties against a sorted array, checked with fast-check: a failure prints its seed, and `FC_SEED` in the environment repeats
 * it; `FC_RUNS` sets how many cases each property tries.
 *
 * What they write keeps within the `maxKeyBytes` and `maxValueBytes` that a store names. A law of something that a store may have, and this one
 * has not, tells the runner to skip it, where the runner hands the context of the test to `run` (node:test, vitest); elsewhere it holds.
 *
 * Outside the contract, and never tried: the empty key (several stores refuse it; as a lower bound it is legal and means the beginning),
 * keys above 258 bytes, whether `getMany` is one view, and snapshots, which the contract does without: a scan is one view, and no more is asked.
 */
import type { Capabilities, MaybePromise, Store } from '../../src/store.ts'
import { isPromise } from '../../src/store.ts'
import { checkSubject, type Declined, decline, type Law, tellSkipped } from '../check/index.ts'
import { checked } from './store-answers.ts'
import type { MakeLaw } from './store-checks.ts'
import { same } from './store-checks.ts'
import { compactLaw, failureLaw, limitLaw, noteLaws } from './store-extras.ts'
import { besideLaws, closeLaws, leakLaw, reopenLaw } from './store-life.ts'
import { bytes } from './store-model.ts'
import { orderLaws, scanLaws, valueLaws } from './store-reading.ts'
import { batchLaws, bufferLaws, expectLaws } from './store-writing.ts'

/** The store under test. */
export interface StoreSubject {
  /** An empty store, on its own each time. */
  open(): MaybePromise<Store>
  /** Opens again what `store`, which was closed, held. Without it, the laws about reopening are skipped. */
  reopen?(store: Store): MaybePromise<Store>
  /** Opens what `store`, which is open, holds a second time, as another process would. Without it, the laws about that are skipped. */
  beside?(store: Store): MaybePromise<Store>
  /**
   * Makes what `store`, which is open, stands on fail from now on: fills its disk, cuts its connection. It need not fail at every call, and can still
   * be closed. Without it, the law about that is skipped.
   */
  fail?(store: Store): MaybePromise<unknown>
  /** What the stores must say of themselves, where that is known before. */
  readonly capabilities?: Partial<Capabilities> | undefined
  /**
   * How many resources are held on to by now: descriptors, timers, connections. Default: what Node says of its process; elsewhere the count
   * of leaks is skipped.
   */
  held?(): MaybePromise<number>
  /** Laws that this store does not keep, by the beginning of their names that no other law shares, each with the reason. */
  readonly declined?: Declined | undefined
}

const NAMES = ['open', 'reopen', 'beside', 'fail', 'held', 'capabilities', 'declined'] as const

/**
 * The laws for a store; each opens stores of its own, and rejects with what was expected and what came.
 * @throws BAD_REQUEST for a member that is none
 * @example for (const law of storeConformance({ open: () => new MyStore() })) test(law.name, { skip: law.skip ?? false }, law.run)
 */
export function storeConformance(subject: StoreSubject): Law[] {
  checkSubject(subject, 'storeConformance', NAMES)
  const law: MakeLaw = (name, check, skip) => {
    const run = async (...[context]: readonly unknown[]): Promise<void> => {
      const store = await subject.open()
      const seen = checked(store)
      let nothing: unknown
      try {
        nothing = await check(seen, store)
      } finally {
        await store.close()
      }
      if (typeof nothing === 'string') tellSkipped(context, nothing)
    }
    return skip === undefined ? { name, run } : { name, run, skip }
  }
  const laws = [
    law('capabilities are what the store does: a synchronous one answers without a promise', async (store) => {
      for (const [name, value] of Object.entries(subject.capabilities ?? {}))
        same(store.capabilities[name as keyof Capabilities], value, `capability ${name}`)
      const answers = [store.get(bytes(1)), store.getMany([bytes(1)])]
      await Promise.all(answers)
      if (store.capabilities.sync) same(answers.map(isPromise), [false, false], 'answers are promises')
    }),
    ...[orderLaws, scanLaws, valueLaws, batchLaws, expectLaws, bufferLaws, closeLaws].flatMap((make) => make(law)),
    reopenLaw(law, subject),
    ...besideLaws(law, subject),
    compactLaw(law),
    ...noteLaws(law, subject),
    limitLaw(law),
    failureLaw(law, subject),
    leakLaw(subject),
  ]
  return decline(laws, subject.declined)
}
