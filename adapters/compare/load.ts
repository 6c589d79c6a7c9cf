/**
 * What a service asks of a store: pages of any list for several readers at once, and ledgers appended meanwhile. Each reader asks for a page as soon as
 * it has the last one.
 * **Invariant:** every store is asked for the same pages, and while one is measured, the others rest.
 */
import { type Ledger, type LedgerClose, nextTurn } from '../../src/index.ts'
import { median, percentile, type Row, rowOf } from './measure.ts'
import { answerOf, append, checkAlike, read } from './rows.ts'
import type { Trial } from './trial.ts'
import { cpuTime, inRounds, inSlices, orderOf, type Pace } from './turns.ts'
import { Incomparable, type Watch } from './watch.ts'
import { type Draw, mixed, type Sample } from './works.ts'

export interface Load extends Pace {
  /** How many pages are asked for at once. */
  readonly readers: number
}

/**
 * How many pages each reader gets for every ledger: so few that those which wait for an append, one of each reader, are more than a hundredth, and p99
 * says how long they wait.
 */
const PAGES = 25
/** A store that leaves an append unanswered is read from up to here: then nothing goes on any more, and that is noticed. */
const MOST_PAGES = 100 * PAGES

/** What was read in a turn. */
interface Spell {
  /** How long it took, and how long each page did, in milliseconds. */
  readonly ms: number
  readonly pages: readonly number[]
}

const LIMIT = 10
const ANY = `any list, ${LIMIT}`

/** Readers alone: one, and as many as are wanted. */
export async function readers(trials: readonly Trial[], sample: Sample, load: Load): Promise<Row[]> {
  const asked = mixed(sample, LIMIT)
  if (load.readers > 1) for (const trial of trials) await checkAtOnce(trial, asked, load)
  const rows: Row[] = []
  for (const count of new Set([1, load.readers])) {
    const one = { ...load, readers: count }
    for (const trial of trials) await readFor(trial, asked, { ...one, runMs: load.runMs / 2 })
    const spells = await inSlices(trials, one, (trial, slice) => readFor(trial, asked, { ...slice, readers: count }))
    const work = count === 1 ? 'one reader' : 'several readers'
    rows.push(...pageRows(work, `${ANY}, ${count} ${count === 1 ? 'reader' : 'readers'}`, spells))
    if (count === load.readers)
      rows.push(
        rowOf(
          { work, name: 'CPU time of a page', unit: 'µs', more: true },
          spells.map((rounds) => rounds.map(cpuOfPage)),
        ),
      )
  }
  return rows
}

/** @throws Incomparable if a store answers otherwise when it is asked several times at once, which no other row does */
async function checkAtOnce(trial: Trial, asked: readonly Draw[], { readers, watch }: Load): Promise<void> {
  const answersOf = async (count: number): Promise<string> => {
    const answers: string[] = []
    await trial.run((ledger) =>
      atOnce(count, watch, {
        isEnough: (begun) => begun === asked.length,
        async ask(nth) {
          answers[nth] = await answerOf(ledger, asked[nth]!)
        },
      }),
    )
    return answers.join('\n')
  }
  if ((await answersOf(1)) !== (await answersOf(readers)))
    throw new Incomparable(`${trial.name} answers ${readers} readers at once differently from one alone`)
}

/** Reads whole rounds of the requests for a while; `cpu` is the CPU time of that, in microseconds. */
const readFor = (trial: Trial, asked: readonly Draw[], { readers, runMs, watch }: Load): Promise<Spell & { readonly cpu: number }> =>
  trial.run(async (ledger) => {
    const pages: number[] = []
    const [began, cpu] = [performance.now(), cpuTime()]
    await atOnce(readers, watch, {
      isEnough: (begun) => begun > 0 && begun % asked.length === 0 && performance.now() - began >= runMs,
      ask: (nth) => read(ledger, asked[nth % asked.length]!),
      onAnswer: (_, ms) => pages.push(ms),
    })
    return { ms: performance.now() - began, pages, cpu: cpuTime() - cpu }
  })

interface Requests {
  /** Asked before each request. */
  isEnough(begun: number): boolean
  ask(nth: number): Promise<unknown>
  onAnswer?(nth: number, ms: number): void
}

/**
 * Readers at once. A request has a turn of the event loop to itself, as one that comes from a socket, and its time begins when its reader could ask:
 * whoever waits while a store that answers at once holds up the event loop waits for that store.
 */
async function atOnce(count: number, watch: Watch, { isEnough, ask, onAnswer }: Requests): Promise<void> {
  let begun = 0
  let isOver = false
  const reader = async (): Promise<void> => {
    try {
      while (!isOver) {
        isOver = isEnough(begun)
        if (isOver) return
        const nth = begun++
        const began = performance.now()
        await (watch.step() ?? nextTurn())
        await ask(nth)
        onAnswer?.(nth, performance.now() - began)
      }
    } finally {
      isOver = true
    }
  }
  // All are waited for: the store is closed after one has failed.
  for (const end of await Promise.allSettled(Array.from({ length: count }, reader))) if (end.status === 'rejected') throw end.reason
}

const cpuOfPage = (round: readonly (Spell & { readonly cpu: number })[]): number =>
  round.reduce((spent, { cpu }) => spent + cpu, 0) / pagesOf(round).length

/** Of each store, the turns of each round. */
type Rounds<T> = readonly (readonly (readonly T[])[])[]

const pagesOf = (round: readonly Spell[]): number[] => round.flatMap(({ pages }) => pages)

function pageRows(work: string, name: string, spells: Rounds<Spell>): Row[] {
  const rounds = (figureOf: (round: readonly Spell[]) => number) => spells.map((list) => list.map(figureOf))
  const detail = { work, unit: 'µs', more: true } as const
  return [
    rowOf(
      { work, name, unit: '/s' },
      rounds((round) => (pagesOf(round).length * 1000) / round.reduce((all, { ms }) => all + ms, 0)),
    ),
    rowOf(
      { ...detail, name: 'median of a page' },
      rounds((round) => median(pagesOf(round)) * 1000),
    ),
    rowOf(
      { ...detail, name: 'p99 of a page' },
      rounds((round) => percentile(pagesOf(round), 99)! * 1000),
    ),
  ]
}

export interface Appended {
  readonly rows: readonly Row[]
  /** How many ledgers were appended. */
  readonly ledgers: number
}

/** Readers while ledgers are appended, one in each turn. */
export async function appends(trials: readonly Trial[], closes: readonly LedgerClose[], sample: Sample, load: Load): Promise<Appended> {
  const asked = mixed(sample, LIMIT)
  const turns: (Spell & { readonly appended: readonly number[] })[][] = trials.map(() => [])
  for (const [turn, close] of closes.entries()) {
    const rotated = asked.map((_, nth) => asked[(nth + turn * PAGES * load.readers) % asked.length]!)
    for (const at of orderOf(trials.length, turn))
      turns[at]!.push(await trials[at]!.run((ledger) => readBeside(ledger, close, rotated, load)))
  }
  await checkAlike(trials, 'any list', asked, load.watch)
  // Whether a ledger was held already is the same for all of them.
  const spells = turns.map((list) =>
    inRounds(
      list.filter(({ appended }) => appended.length > 0),
      load.rounds,
    ),
  )
  const times = spells.map((rounds) => rounds.map((round) => round.flatMap(({ appended }) => appended)))
  const ledgers = times[0]!.flat().length
  if (ledgers === 0) return { rows: [], ledgers }
  const work = 'readers beside appends'
  const detail = { work, unit: 'µs', more: true } as const
  const rows: Row[] = [
    ...pageRows(work, `${load.readers === 1 ? '1 reader' : `${load.readers} readers`} beside appends`, spells),
    rowOf(
      { ...detail, name: 'median of an append' },
      times.map((rounds) => rounds.map(median)),
    ),
    { ...detail, name: 'slowest append', figures: times.map((rounds) => Math.max(...rounds.flat())) },
  ]
  return { rows, ledgers }
}

/** The first pages are measured, the same ones for every store; the ledger is appended among them, and readers go on until that is done. */
async function readBeside(
  ledger: Ledger,
  close: LedgerClose,
  asked: readonly Draw[],
  { readers, watch }: Load,
): Promise<Spell & { readonly appended: readonly number[] }> {
  const pages: number[] = []
  let ms = 0
  let appending: Promise<readonly number[]> | undefined
  let isAppended = false
  const began = performance.now()
  const begin = async (): Promise<readonly number[]> => {
    try {
      return await append(ledger, [close], watch)
    } finally {
      isAppended = true
    }
  }
  try {
    await atOnce(readers, watch, {
      isEnough: (begun) => begun >= PAGES * readers && (isAppended || begun >= MOST_PAGES * readers),
      ask(nth) {
        if (nth === Math.ceil((PAGES * readers) / 4)) {
          appending = begin()
          // It is waited for once the readers are done.
          appending.catch(() => {})
        }
        return read(ledger, asked[nth % asked.length]!)
      },
      onAnswer(nth, took) {
        if (nth >= PAGES * readers) return
        pages.push(took)
        ms = performance.now() - began
      },
    })
  } finally {
    await appending?.catch(() => {})
  }
  return { ms, pages, appended: (await appending) ?? [] }
}
