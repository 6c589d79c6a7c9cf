/**
 * A store as the laws see it: an answer of another kind than the contract names is reported as such before anything is made of it, and so is a
 * failure that is not a FolioError.
 */
import { FolioError } from '../../src/errors.ts'
import { isPromise, type MaybePromise, type Store } from '../../src/store.ts'

/** Optional members that the store lacks stay absent. @throws Error if it is not a store */
export function checked(store: Store): Store {
  for (const name of ['get', 'getMany', 'scan', 'write', 'close'] as const)
    if (typeof store?.[name] !== 'function') throw new Error(`expected a store, got ${kindOf(store)}${store ? ` without ${name}` : ''}`)
  if (typeof store.capabilities !== 'object') throw new Error(`expected a store that says its capabilities, got ${kindOf(store)}`)
  return {
    capabilities: store.capabilities,
    get: (key) =>
      asked(
        'get',
        () => store.get(key),
        (value) => checkValue('get', value),
      ),
    getMany: (keys) =>
      asked(
        'getMany',
        () => store.getMany(keys),
        (values) => {
          if (!Array.isArray(values)) wrong('getMany', 'an array with an answer a key', values)
          for (const value of values) checkValue('getMany', value)
        },
      ),
    scan: (range, options) =>
      asked(
        'scan',
        () => store.scan(range, options),
        (chunk) => {
          if (!Array.isArray(chunk?.entries) || typeof chunk.more !== 'boolean')
            wrong('scan', '{ entries: [], more: true or false }', chunk)
          for (const entry of chunk.entries) {
            if (!Array.isArray(entry)) wrong('scan', 'entries that are arrays of key and value', entry)
            for (const bytes of [entry[0], entry[1]])
              if (!(bytes instanceof Uint8Array)) wrong('scan', 'keys and values that are Uint8Arrays', bytes)
          }
        },
      ),
    write: (batch, options) => asked('write', () => store.write(batch, options)),
    close: () => asked('close', () => store.close()),
    ...(store.watch && { watch: (ring) => store.watch!(ring) }),
    ...(store.compact && { compact: (range) => asked('compact', () => store.compact!(range)) }),
    ...(store.note && {
      note: {
        read: () =>
          asked(
            'note.read',
            () => store.note!.read(),
            (value) => checkValue('note.read', value),
          ),
        write: (bytes, options) => asked('note.write', () => store.note!.write(bytes, options)),
      },
    }),
  }
}

/** The answer of a call, checked when it is there. */
function asked<T>(call: string, ask: () => MaybePromise<T>, look: (answer: T) => void = () => {}): MaybePromise<T> {
  const seen = (answer: T): T => {
    look(answer)
    return answer
  }
  let answer: MaybePromise<T>
  try {
    answer = ask()
  } catch (error) {
    throw failure(call, error)
  }
  if (!isPromise(answer)) return seen(answer)
  return answer.then(seen, (error) => {
    throw failure(call, error)
  })
}

/** What a call failed with, if that follows the contract; otherwise an error that says it does not. */
function failure(call: string, error: unknown): Error {
  if (error instanceof FolioError) return error
  return new Error(`${call}: expected a FolioError where it fails; got ${kindOf(error)}: ${(error as Error)?.message ?? error}`, {
    cause: error,
  })
}

function checkValue(call: string, value: unknown): void {
  if (value !== undefined && !(value instanceof Uint8Array)) wrong(call, 'a Uint8Array, or undefined where nothing is', value)
}

function wrong(call: string, expected: string, came: unknown): never {
  throw new Error(`${call}: expected ${expected}; got ${kindOf(came)}`)
}

const kindOf = (value: unknown): string => {
  if (Array.isArray(value)) return 'an array'
  if (typeof value !== 'object' || value === null) return value === undefined || value === null ? String(value) : `a ${typeof value}`
  return `an object of class ${Object.getPrototypeOf(value)?.constructor?.name ?? 'none'}`
}
