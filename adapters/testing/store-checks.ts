/** What the store laws are written with: properties over an emptied store, comparisons of a store with its model, readable failures. */
import type fc from 'fast-check'
import { equal } from '../../src/bytes.ts'
import { type ErrorCode, FolioError } from '../../src/errors.ts'
import type { Chunk, Entry, KeyRange, MaybePromise, ScanOptions, Store } from '../../src/store.ts'
import type { Law } from '../check/index.ts'
import { forAll } from './property.ts'
import { newestCall, restart, unfailing } from './store-answers.ts'
import { everything, filled, following, type Material, Model, materialFor, numbered, order } from './store-model.ts'
import { show, showMany } from './store-show.ts'

export { show } from './store-show.ts'

/**
 * `own` is the store that the subject gave, from which it knows what to open again. A check that finds nothing to check, since the store lacks what
 * the law is about, resolves to the reason.
 */
export type MakeLaw = (name: string, check: (store: Store, own: Store) => Promise<unknown>, skip?: string) => Law

/** Runs a property over a store that is emptied before each case; `draw` makes its cases from what the store accepts. */
export const property = <T>(
  store: Store,
  draw: (material: Material) => fc.Arbitrary<T>,
  check: (value: T) => Promise<void>,
): Promise<void> =>
  forAll(draw(materialFor(store.capabilities)), 40, async (value) => {
    restart(store)
    await unfailing(async () => {
      await wipe(store)
      await check(value)
    })
  })

/** A millisecond or so, for what comes by itself. */
export const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))
export const count = (size: number): Entry[] => Array.from({ length: size }, (_, n) => [numbered(n * 256), filled(n % 50, n)])

export function modelOf(entries: readonly Entry[]): Model {
  const model = new Model()
  model.entries = [...entries].sort((a, b) => order(a[0], b[0]))
  return model
}

/** Writes the entries, whose keys differ, in one batch. */
export async function fill(store: Store, entries: readonly Entry[]): Promise<Model> {
  await store.write(entries, { durable: false })
  return modelOf(entries)
}

export async function wipe(store: Store): Promise<void> {
  const left = await inChunks(store, everything, { limit: 1000 })
  if (left.length > 0)
    await store.write(
      left.map(([key]) => [key, undefined] as const),
      { durable: false },
    )
}

/** A whole range, read chunk by chunk, each resuming after the last key of the previous one. */
export async function inChunks(store: Store, range: KeyRange, options: ScanOptions): Promise<Entry[]> {
  const all: Entry[] = []
  for (let { gte, lt } = range; ; ) {
    const { entries, more }: Chunk = await store.scan({ gte, lt }, options)
    all.push(...entries)
    const last = entries.at(-1)?.[0]
    if (!more) return all
    if (!last || order(last, gte) < 0 || order(last, lt) >= 0) throw new Error(`more is left, but the chunk ends at ${show(last)}`)
    if (options.reverse) lt = Uint8Array.from(last)
    else gte = following(last)
  }
}

/** One scan gives what the model gives. */
export async function agrees(store: Store, model: Model, range: KeyRange, options: ScanOptions): Promise<void> {
  const inside = model.range(range, options.reverse)
  let size = 0
  const beyond = inside.findIndex(([key, value], n) => {
    size += key.length + value.length
    return n >= options.limit || (n > 0 && size > (options.maxBytes ?? Number.POSITIVE_INFINITY))
  })
  const expected: Chunk = { entries: beyond < 0 ? inside : inside.slice(0, beyond), more: beyond >= 0 }
  const chunk = await store.scan(range, options)
  same(
    [chunk.entries, chunk.more],
    [expected.entries, expected.more],
    `scan from ${show(range.gte)} to ${show(range.lt)}, ${JSON.stringify(options)}`,
  )
}

/** How many gets a law makes before the first is answered. */
const AT_ONCE = 100

/** The store holds what the model holds, read in every way. */
export async function holds(store: Store, model: Model): Promise<void> {
  for (const reverse of [false, true]) await agrees(store, model, everything, { limit: model.entries.length + 1, reverse })
  const keys = model.entries.map(([key]) => key)
  same(
    await store.getMany(keys),
    model.entries.map(([, value]) => value),
    `getMany of ${showMany(keys)}`,
  )
  // Many at once: one after another, thousands would take a store over a network half a minute.
  for (let at = 0; at < model.entries.length; at += AT_ONCE)
    await Promise.all(
      model.entries.slice(at, at + AT_ONCE).map(async ([key, value]) => same(await store.get(key), value, `get of ${show(key)}`)),
    )
}

/** The call fails with that code. */
export async function refused(code: ErrorCode, call: () => MaybePromise<unknown>): Promise<void> {
  const coming = (async () => call())()
  const begun = newestCall()
  let answer: unknown
  try {
    answer = await coming
  } catch (error) {
    if (!(error instanceof FolioError)) throw error
    if (error.code !== code) throw new Error(`${begun()}: expected ${code}, got ${error.code}: ${error.message}`, { cause: error })
    return
  }
  throw new Error(`${begun()}: expected ${code}, got the answer ${show(answer)}`)
}

/** Adds to a failure where it was. */
export async function within<T>(where: string, work: () => Promise<T>): Promise<T> {
  try {
    return await unfailing(work)
  } catch (error) {
    throw new Error(`${where}: ${error instanceof Error ? error.message : error}`, { cause: error })
  }
}

/** Equal, down to every byte of lists of lists. */
export const alike = (a: unknown, b: unknown): boolean => {
  if (a instanceof Uint8Array) return b instanceof Uint8Array && equal(a, b)
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b
  if (a.length !== b.length) return false
  // Not by `every`, which passes over holes.
  for (let n = 0; n < a.length; n++) if (!alike(a[n], b[n])) return false
  return true
}

export function same(actual: unknown, expected: unknown, what: string): void {
  // Nearly always, and in a fraction of the time that the texts take.
  if (alike(actual, expected)) return
  const [came, wanted] = [show(actual), show(expected)]
  if (came === wanted) return
  let at = 0
  while (came[at] === wanted[at]) at++
  const isLong = Math.max(came.length, wanted.length) >= LONG
  throw new Error(`${what}: expected ${around(wanted, at)}, got ${around(came, at)}${isLong ? firstApart(actual, expected) : ''}`)
}

const LONG = 400

/** Long lists are shown from shortly before the first difference. */
const around = (text: string, at: number): string => {
  const from = text.length < LONG ? 0 : Math.max(0, at - 150)
  return (from > 0 ? '…' : '') + text.slice(from, from + LONG) + (text.length > from + LONG ? '…' : '')
}

/** The first item of a list that is not as expected, since among hundreds of digits nobody sees it; of a chunk, the first entry. */
function firstApart(came: unknown, wanted: unknown): string {
  if (!Array.isArray(came) || !Array.isArray(wanted)) return ''
  const found = wanted.findIndex((one, n) => !alike(one, came[n]))
  const at = found < 0 ? wanted.length : found
  if (isList(came[at]) && isList(wanted[at])) return firstApart(came[at], wanted[at])
  const shown = (list: readonly unknown[]): string => (at >= list.length ? 'no more' : [list[at]].flat().map(show).join(' '))
  return `\n${Array.isArray(wanted[at] ?? came[at]) ? 'entry' : 'answer'} ${at}: expected ${shown(wanted)}, got ${shown(came)}`
}

const isList = (value: unknown): boolean => Array.isArray(value) && value.every(Array.isArray)
