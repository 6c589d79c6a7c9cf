/**
 * Compares stores by what the engine asks of them: the same ledgers go in, the same pages come out, in turns, so that a busy machine is equally busy
 * for all. Pages are read without the engine's cache, since the question is what the store costs.
 * **Invariant:** a store whose answers differ from those of the first one is an error, not a row.
 * **Invariant:** whatever ends a comparison, no place of a store is left behind.
 */
import type { LedgerClose } from '../../src/index.ts'
import { Closes } from './closes.ts'
import { appends, type Load, readers } from './load.ts'
import type { Row } from './measure.ts'
import { fill, pages, reopen, sizes } from './rows.ts'
import { heedingStrays } from './stray.ts'
import { type Candidate, Trial } from './trial.ts'
import { SLICES } from './turns.ts'
import { Incomparable, Watch } from './watch.ts'
import { sampleOf, works } from './works.ts'

export { isEven, median, type Row, type Span } from './measure.ts'
export type { Candidate, Place } from './trial.ts'
export { Incomparable } from './watch.ts'

export interface CompareOptions {
  /** How many times each row is measured; the medians are reported. Default 7, the fewest with which stores can be told apart. */
  readonly rounds?: number
  /** How many readers there are at once, in rows with several. Default 8. */
  readonly readers?: number
  /** The least time that a measurement takes, in milliseconds. Default 100. */
  readonly runMs?: number
  /** How long a store may leave a call unanswered, in milliseconds. Default 30 s. */
  readonly patienceMs?: number
  readonly signal?: AbortSignal
  /** Called if the process is ended meanwhile, as by a store: with what is to be said of that, while there is still time to say it. */
  readonly onExit?: (error: Incomparable) => void
  /** Called with what is being done. */
  readonly onStep?: (step: string) => void
}

export interface Comparison {
  /** How many ledgers each store was given, and how many more it already held. */
  readonly ledgers: number
  readonly known: number
  /** Of each store, whether what is written outlives the process. One of which it does not acknowledges a ledger as durable, and loses it. */
  readonly persistent: readonly boolean[]
  readonly rows: readonly Row[]
}

/** How many ledgers the stores are warmed up with; the same ones are then measured. A third of so many may be kept to be appended under load. */
const WARM_UP = 100

/**
 * @param closes at least one ledger with a transaction in it; read a few at a time
 * @throws Incomparable if there is none, or if a store forgets what was written, answers otherwise than the first one, never answers, throws anything
 * but a FolioError, or fails where nobody waits for it; of other errors, `location` begins with its name; the signal's reason
 */
export async function compareStores(
  candidates: readonly Candidate[],
  closes: AsyncIterable<LedgerClose> | Iterable<LedgerClose>,
  { rounds = 7, readers = 8, runMs = 100, patienceMs = 30_000, signal, onExit = () => {}, onStep = () => {} }: CompareOptions = {},
): Promise<Comparison> {
  const watch = new Watch(signal, patienceMs)
  const source = new Closes(closes, watch)
  const work = async (): Promise<Comparison> => {
    onStep('reading the first ledgers')
    const first = await source.peek(WARM_UP)
    if (first.length === 0) throw new Incomparable('there are no ledgers')
    // Stores share the engine, and those of a kind their code: whichever came first would pay for compiling it.
    await among(candidates, watch, (trials) =>
      measured(trials, new Closes(first, watch), { rounds: 1, readers, runMs: runMs / 4, watch }, (step) => onStep(`warming up: ${step}`)),
    )
    return await among(candidates, watch, async (trials) => {
      const { ledgers, known, appended, read } = await measured(trials, source, { rounds, readers, runMs, watch }, onStep)
      if (read.length === 0) throw new Incomparable('the ledgers hold no transactions')
      onStep('waiting for the files to settle')
      const persistent = trials.map(({ isPersistent }) => isPersistent)
      return { ledgers, known, persistent, rows: [...appended, await sizes(trials, watch), ...read] }
    })
  }
  try {
    return await heedingStrays(watch, onExit, work)
  } finally {
    source.leave()
  }
}

/** Work on new stores, which are removed when it is done. */
async function among<T>(candidates: readonly Candidate[], watch: Watch, work: (trials: readonly Trial[]) => Promise<T>): Promise<T> {
  const trials: Trial[] = []
  let done: T
  try {
    for (const { name, place } of candidates) trials.push(new Trial(name, await place(), watch))
    for (const trial of trials) await trial.open()
    done = await work(trials)
    for (const trial of trials) await trial.close()
  } catch (error) {
    // What failed first is reported, even if removing fails too.
    await removed(trials).catch(() => {})
    throw error
  }
  await removed(trials)
  return done
}

/** Removes every place, whichever of them fails. */
async function removed(trials: readonly Trial[]): Promise<void> {
  const ends = await Promise.allSettled(trials.map((trial) => trial.remove()))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

interface Measured extends Pick<Comparison, 'ledgers' | 'known'> {
  readonly appended: readonly Row[]
  /** Empty if there are no transactions. */
  readonly read: readonly Row[]
}

async function measured(trials: readonly Trial[], closes: Closes, load: Load, onStep: (step: string) => void): Promise<Measured> {
  const kept = Math.min(SLICES * load.rounds, Math.floor((await closes.peek(WARM_UP)).length / 3))
  onStep('ingesting, each ledger durable before the next')
  const filled = await fill(trials, closes, load, kept)
  onStep('closing and reopening the stores')
  const opened = await reopen(trials, load)
  const sample = await trials[0]!.run(sampleOf)
  if (!sample) return { ledgers: filled.ledgers, known: filled.known, appended: filled.rows, read: [] }
  const read: Row[] = [opened]
  for (const work of works)
    for (const limit of [10, 200] as const) {
      onStep(`${work.name}, ${limit}`)
      read.push(...(await pages(trials, sample, work, limit, load)))
    }
  onStep('several readers')
  read.push(...(await readers(trials, sample, load)))
  onStep('several readers, while ledgers are appended')
  const { ledgers, rows } = await appends(trials, await closes.take(kept), sample, load)
  read.push(...rows)
  return { ledgers: filled.ledgers + ledgers, known: filled.known + kept - ledgers, appended: filled.rows, read }
}
