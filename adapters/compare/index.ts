/**
 * Compares stores by what the engine asks of them: the same ledgers go in, the same pages come out, in turns, so that a busy machine is equally busy
 * for all. Pages are read without the engine's cache, since the question is what the store costs.
 * **Invariant:** a store whose answers differ from those of the first one is an error, not a row.
 */
import { FolioError, type Ledger, type LedgerClose, type LedgerOptions, openLedger, type Store } from '../../src/index.ts'
import { type Cost, type Counted, counted } from './counted.ts'
import { type Draw, draw, Incomparable, sampleOf, type Work, works } from './works.ts'

export { Incomparable } from './works.ts'

/** A store to try, in a place of its own. */
export interface Candidate {
  readonly name: string
  /** Opens the place: empty the first time, later with what was written. */
  open(): Promise<Store>
  /** How many bytes the closed store takes on disk; undefined for one in memory. */
  size(): Promise<number | undefined>
  remove(): Promise<void>
}

export interface CompareOptions {
  /** How many times each row is measured; the medians are reported. Default 7. */
  readonly rounds?: number
  readonly signal?: AbortSignal
  /** Called with what is being done. */
  readonly onStep?: (step: string) => void
}

export type Span = readonly [least: number, most: number]

/** One figure per candidate, in the order in which they were given. */
export interface Row {
  /** What was done: appended, opened, kept on disk, or the list that was read. */
  readonly work: string
  readonly name: string
  readonly unit: 'µs' | 'ms' | 'MB' | 'calls' | 'KB'
  readonly figures: readonly (number | undefined)[]
  /** The least and the greatest of the rounds, if there were rounds. */
  readonly spread?: readonly Span[]
  /** The ratios to the first candidate, round by round: the least and the greatest. */
  readonly ratios?: readonly Span[]
}

interface Side {
  readonly candidate: Candidate
  ledger: Ledger
  costOf: Counted['costOf']
}

/** How many ledgers one store takes before it is the next one's turn. */
const TURN = 20
/** Requests per measurement. */
const REQUESTS = { 10: 60, 200: 12 } as const

/**
 * @param closes at least one ledger with a transaction in it
 * @throws Incomparable if there is none, or if a store forgets what was written, answers otherwise than the first one, or throws anything but a
 * FolioError; of other errors, `location` begins with its name
 */
export async function compareStores(
  candidates: readonly Candidate[],
  closes: readonly LedgerClose[],
  options: CompareOptions = {},
): Promise<readonly Row[]> {
  const sides: Side[] = []
  let rows: readonly Row[]
  try {
    rows = await measured(candidates, sides, closes, options)
  } catch (error) {
    // What failed first is reported, even if closing fails too.
    await ended(candidates, sides).catch(() => {})
    throw error
  }
  await ended(candidates, sides)
  return rows
}

/** Adds the sides that it opens. */
async function measured(
  candidates: readonly Candidate[],
  sides: Side[],
  closes: readonly LedgerClose[],
  { rounds = 7, signal, onStep = () => {} }: CompareOptions,
): Promise<readonly Row[]> {
  for (const candidate of candidates) sides.push(await opened(candidate))
  onStep(`ingesting ${closes.length} ledgers, each durable before the next`)
  const rows: Row[] = [await fill(sides, closes, signal)]
  onStep('closing and reopening the stores')
  rows.push(...(await reopen(sides)))
  const sample = await sampleOf(sides[0]!.ledger)
  for (const work of works)
    for (const limit of [10, 200] as const) {
      signal?.throwIfAborted()
      onStep(`${work.name}, ${limit}`)
      const asked = Array.from({ length: REQUESTS[limit] }, (_, nth) => draw(work, sample, limit, nth))
      rows.push(...(await pages(sides, work, limit, asked, rounds)))
    }
  return rows
}

/** Closes every store and removes every place, whichever of them fails. */
async function ended(candidates: readonly Candidate[], sides: readonly Side[]): Promise<void> {
  const ends = await Promise.allSettled(sides.map(({ candidate, ledger }) => by(candidate, () => ledger.close())))
  for (const candidate of candidates) await candidate.remove()
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

async function opened(candidate: Candidate, options?: LedgerOptions): Promise<Side> {
  const given = await candidate.open().catch((error) => {
    throw error instanceof FolioError ? named(candidate, error) : error
  })
  const { store, costOf } = counted(given)
  return { candidate, ledger: await by(candidate, () => openLedger(store, options)), costOf }
}

/** The work of one candidate. With several stores, the caller must be told which one failed; a foreign one may throw anything. */
async function by<T>(candidate: Candidate, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof FolioError))
      throw new Incomparable(`${candidate.name} fails: ${error instanceof Error ? error.message : error}`, { cause: error })
    // Below 500, it is the ledgers that are at fault.
    throw error.status < 500 ? error : named(candidate, error)
  }
}

/** The name comes before the place that the store gives, since that may be a directory made for the comparison. */
function named({ name }: Candidate, error: FolioError): FolioError {
  const { location, ...fields } = error.fields
  return new FolioError(error.code, { location: location === undefined ? name : `${name}, ${location}`, ...fields }, error)
}

async function fill(sides: readonly Side[], closes: readonly LedgerClose[], signal?: AbortSignal): Promise<Row> {
  const spent = sides.map(() => 0)
  for (let from = 0; from < closes.length; from += TURN) {
    signal?.throwIfAborted()
    const part = closes.slice(from, from + TURN)
    for (const [at, { candidate, ledger }] of sides.entries()) {
      const started = performance.now()
      await by(candidate, async () => {
        for (const close of part) await ledger.append(close)
      })
      spent[at]! += performance.now() - started
    }
  }
  return { work: 'append', name: 'a durable ledger', unit: 'µs', figures: spent.map((ms) => (ms * 1000) / closes.length) }
}

/** Opens every store again, from now on without a cache. */
async function reopen(sides: readonly Side[]): Promise<Row[]> {
  const took: number[] = []
  const sizes: (number | undefined)[] = []
  for (const side of sides) {
    const { candidate, ledger } = side
    await by(candidate, () => ledger.close())
    const bytes = await candidate.size()
    sizes.push(bytes === undefined ? undefined : bytes / 1e6)
    const started = performance.now()
    Object.assign(side, await opened(candidate, { cacheBytes: 0 }))
    took.push(performance.now() - started)
    if (side.ledger.head?.last !== ledger.head?.last)
      throw new Incomparable(`${candidate.name}, opened again, does not hold what was written`)
  }
  return [
    { work: 'disk', name: 'on disk', unit: 'MB', figures: sizes },
    { work: 'open', name: 'an open', unit: 'ms', figures: took },
  ]
}

async function pages(sides: readonly Side[], { name }: Work, limit: number, asked: readonly Draw[], rounds: number): Promise<Row[]> {
  const answers: string[] = []
  for (const { candidate, ledger } of sides) answers.push(await by(candidate, () => answersOf(ledger, asked)))
  for (const [at, answer] of answers.entries())
    if (answer !== answers[0])
      throw new Incomparable(`${sides[at]!.candidate.name} answers ${name} differently from ${sides[0]!.candidate.name}`)
  const times = sides.map((): number[] => [])
  for (let round = 0; round < rounds; round++)
    for (let turn = 0; turn < sides.length; turn++) {
      const at = round % 2 === 0 ? turn : sides.length - 1 - turn
      const started = performance.now()
      const { candidate, ledger } = sides[at]!
      await by(candidate, async () => {
        for (const one of asked) await read(ledger, one)
      })
      times[at]!.push(((performance.now() - started) * 1000) / asked.length)
    }
  const timed: Row = {
    work: name,
    name: `${name}, ${limit}`,
    unit: 'µs',
    figures: times.map(median),
    spread: times.map(spanOf),
    ratios: times.map((list) => spanOf(list.map((time, round) => time / times[0]![round]!))),
  }
  if (limit !== 200) return [timed]
  const costs: Cost[] = []
  for (const { candidate, ledger, costOf } of sides) costs.push(await by(candidate, () => costOf(() => read(ledger, asked[0]!))))
  return [
    timed,
    { work: name, name: 'calls of the store', unit: 'calls', figures: costs.map(({ calls }) => calls) },
    { work: name, name: 'bytes read', unit: 'KB', figures: costs.map(({ bytes }) => bytes / 1000) },
  ]
}

/** Reads a page down to the bytes of its records; returns how many there are. */
async function read(ledger: Ledger, { query, values, options }: Draw): Promise<number> {
  let bytes = 0
  for (const { block, at } of (await ledger.read(query, values, options)).records) bytes += block.text(at).length
  return bytes
}

async function answersOf(ledger: Ledger, asked: readonly Draw[]): Promise<string> {
  const answers: string[] = []
  for (const { query, values, options } of asked) {
    const { records, next, prev } = await ledger.read(query, values, options)
    answers.push(`${next} ${prev} ${records.map(({ block, at }) => `${block.token(at)} ${block.json(at)}`)}`)
  }
  return answers.join('\n')
}

const spanOf = (list: readonly number[]): Span => [Math.min(...list), Math.max(...list)]

function median(list: readonly number[]): number {
  const sorted = list.toSorted((a, b) => a - b)
  return sorted[sorted.length >> 1]!
}
