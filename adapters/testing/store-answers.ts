/**
 * A store as the laws see it. What they hand in reaches the store in changing forms; an answer of another kind than the contract names is reported
 * as such before anything is made of it, and so are a failure that is not a FolioError, and a store that changes what it was given.
 */
import { FolioError } from '../../src/errors.ts'
import {
  after,
  type Chunk,
  isPromise,
  type KeyRange,
  type MaybePromise,
  missingIn,
  type ScanOptions,
  type Snapshot,
  type Store,
  type Write,
  type WriteOptions,
} from '../../src/store.ts'
import { PATIENCE, unanswered } from '../check/index.ts'
import { asGiven, type Form, inTurns } from './store-forms.ts'
import { Handed } from './store-handed.ts'
import { checkChunk, checkSnapshot, checkValue, kindOf, wrong } from './store-kinds.ts'
import { show, showMany } from './store-show.ts'

const restarts = new WeakMap<Store, () => void>()

/** From here on, the store is given the same forms in the same order as from its beginning. */
export const restart = (store: Store): void => restarts.get(store)?.()

/** The store, which is given the very arrays that the law hands in. */
export const plainly = (store: Store): Store => wrapped(store, asGiven)

/** How long each store may leave a call unanswered, in milliseconds. */
const patiences = new WeakMap<Store, number>()

/** A store that a member of the subject gives. */
export async function opened(
  member: string,
  give: () => MaybePromise<Store>,
  { patience = PATIENCE }: { readonly patience?: number | undefined },
): Promise<Store> {
  const store = await given(member, give)
  if (typeof store === 'object' && store !== null) patiences.set(store, patience)
  return store
}

/** Optional members that the store lacks stay absent. @throws Error if it is not a store */
export function checked(store: Store): Store {
  const turns = inTurns()
  const seen = wrapped(store, turns.form)
  restarts.set(seen, turns.restart)
  return seen
}

function wrapped(store: Store, form: Form): Store {
  const missing = missingIn(store)
  if (missing.length > 0) throw new Error(`expected a store, got ${kindOf(store)}${store ? ` without ${missing.join(', ')}` : ''}`)
  const asked = asking(patiences.get(store) ?? PATIENCE)
  const scanOf =
    (of: Pick<Store, 'scan'>, name: string) =>
    (range: KeyRange, options: ScanOptions): MaybePromise<Chunk> => {
      const handed = new Handed(form)
      const given = handed.range(range)
      const call = () => `${name} from ${show(range.gte)} to ${show(range.lt)}, ${JSON.stringify(options)}`
      return asked(
        call,
        () => of.scan(given, options),
        handed,
        (chunk) => checkChunk(call, chunk),
      )
    }
  const seen = (snapshot: Snapshot): Snapshot => ({
    scan: scanOf(snapshot, 'snapshot.scan'),
    close: () =>
      asked(
        () => 'snapshot.close',
        () => snapshot.close(),
      ),
  })
  return {
    capabilities: store.capabilities,
    get: (key) => {
      const handed = new Handed(form)
      const given = handed.one(key)
      const call = () => `get of ${show(key)}`
      return asked(
        call,
        () => store.get(given),
        handed,
        (value) => checkValue(call, value),
      )
    },
    getMany: (keys) => {
      const handed = new Handed(form)
      const given = handed.list(keys.map((key) => handed.one(key)))
      const call = () => `getMany of ${showMany(keys)}`
      return asked(
        call,
        () => store.getMany(given),
        handed,
        (values) => {
          if (!Array.isArray(values)) wrong(call, 'an array with an answer a key', values)
          for (const value of values) checkValue(call, value)
        },
      )
    },
    scan: scanOf(store, 'scan'),
    write: (batch, options) => {
      const handed = new Handed(form)
      const given = handed.list(batch.map(([key, value]): Write => [handed.one(key), handed.one(value)]))
      const { expect, ...rest } = options
      const told = expect ? { ...rest, expect: { key: handed.one(expect.key), value: handed.one(expect.value) } } : options
      return asked(
        () => showWrite(batch, options),
        () => store.write(given, told),
        handed,
      )
    },
    close: () =>
      asked(
        () => 'close',
        () => store.close(),
      ),
    ...(store.watch && {
      watch: (ring) =>
        asked(
          () => 'watch',
          () => store.watch!(ring),
        ) as () => void,
    }),
    ...(store.compact && {
      compact: (range) => {
        const handed = new Handed(form)
        const given = handed.range(range)
        return asked(
          () => `compact from ${show(range.gte)} to ${show(range.lt)}`,
          () => store.compact!(given),
          handed,
        )
      },
    }),
    ...(store.snapshot && {
      snapshot: () => {
        const call = () => 'snapshot'
        return after(
          asked(
            call,
            () => store.snapshot!(),
            undefined,
            (given) => checkSnapshot(call, given),
          ),
          seen,
        )
      },
    }),
    // The note is given in forms by its own law, which overwrites what it handed in.
    ...(store.note && {
      note: {
        read: () => {
          const call = () => 'note.read'
          return asked(
            call,
            () => store.note!.read(),
            undefined,
            (value) => checkValue(call, value),
          )
        },
        write: (bytes, options) =>
          asked(
            () => `note.write of ${show(bytes)}`,
            () => store.note!.write(bytes, options),
          ),
      },
    }),
  }
}

const showWrite = (batch: readonly Write[], { durable, expect }: WriteOptions): string =>
  `write of ${showMany(batch)}, durable: ${durable}${expect ? `, if ${show(expect.key)} holds ${show(expect.value)}` : ''}`

let newest: () => string = () => 'no call'

/** The call that was begun last, with its arguments. */
export const newestCall = (): (() => string) => newest

/** Makes calls of a store that is given up when it leaves one unanswered; gives the answer of a call, checked when it is there. */
const asking = (patience: number) =>
  function asked<T>(
    call: () => string,
    ask: () => MaybePromise<T>,
    handed?: Handed,
    look: (answer: T) => void = () => {},
  ): MaybePromise<T> {
    const seen = (answer: T): T => {
      look(answer)
      handed?.check(call)
      return answer
    }
    newest = call
    let answer: MaybePromise<T>
    try {
      answer = ask()
    } catch (error) {
      throw failure(call, error)
    }
    return isPromise(answer) ? inTime(answer, seen, call, patience) : seen(answer)
  }

/** What `seen` makes of an answer, with no turn in between: a law must see what is there once a call has resolved. */
const inTime = <T>(answer: Promise<T>, seen: (answer: T) => T, call: () => string, patience: number): Promise<T> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(unanswered(call, patience)), patience)
    answer.then(
      (came) => {
        clearTimeout(timer)
        try {
          resolve(seen(came))
        } catch (error) {
          reject(error)
        }
      },
      (error) => {
        clearTimeout(timer)
        reject(failure(call, error))
      },
    )
  })

/** Which call a FolioError came from. */
const origins = new WeakMap<FolioError, () => string>()

/** What a call failed with, if that follows the contract; otherwise an error that says it does not. */
function failure(call: () => string, error: unknown): Error {
  if (error instanceof FolioError) {
    origins.set(error, call)
    return error
  }
  return new Error(`${call()}: expected a FolioError where it fails; got ${kindOf(error)}: ${(error as Error)?.message ?? error}`, {
    cause: error,
  })
}

/** Work in which no call may fail. @throws Error with the call, if one fails with a FolioError */
export async function unfailing<T>(work: () => MaybePromise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const call = error instanceof FolioError && origins.get(error)
    if (!call) throw error
    throw new Error(`${call()}: expected an answer; got ${error.code}: ${error.message}`, { cause: error })
  }
}

/** What a member of the subject gives. */
export const given = async <T>(member: string, give: () => MaybePromise<T>): Promise<T> =>
  unfailing(async () => {
    try {
      return await give()
    } catch (error) {
      if (error instanceof FolioError) throw failure(() => member, error)
      throw new Error(`${member}: expected what the subject promises; got ${kindOf(error)}: ${(error as Error)?.message ?? error}`, {
        cause: error,
      })
    }
  })

/** Closes the store after the work. If that fails too, it is the failure of the work that is reported. */
export async function closing<T>(store: Store, work: () => Promise<T>): Promise<T> {
  let result: T
  try {
    result = await work()
  } catch (error) {
    try {
      await store.close()
    } catch {}
    throw error
  }
  await store.close()
  return result
}
