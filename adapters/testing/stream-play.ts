/**
 * A source with a writer and several readers, each of whose steps fast-check's scheduler releases in an order of its choice, and what is wrong with
 * what each reader saw.
 */
import type fc from 'fast-check'
import type { MaybePromise } from '../../src/index.ts'
import { textOf } from '../check/index.ts'

/** Records that can be listed, added to, and streamed. */
export interface StreamSource<R> {
  /** All existing records, oldest first, not read from a stream. */
  records(): MaybePromise<readonly R[]>
  /** Adds this many newer records at once. */
  append(count: number): MaybePromise<unknown>
  /** Records after the cursor as they are and as they arrive, without end; the empty cursor stands for the beginning. */
  stream(cursor: string, signal: AbortSignal): AsyncIterator<R>
  /** The cursor that continues after a record. */
  token(record: R): string
  /** The cursor that stands for the newest record at the time of the call, if there is such a cursor. */
  readonly now?: string
  /** Ends every stream. */
  close?(): MaybePromise<unknown>
}

export interface Reader {
  /** The beginning, now, or after the n-th existing record. */
  readonly from: 'start' | 'now' | number
  /** The step of the writer with which it begins: before that step is taken, or while it is in progress. */
  readonly when: number
  readonly eager: boolean
  /** Scheduled steps between two pulls. */
  readonly pause: number
  /** How many pulls are made before the first is answered. */
  readonly ahead: number
  readonly stop: 'never' | 'abort' | 'return'
  /** Scheduled steps until it stops. */
  readonly stopAfter: number
}

export interface Plan {
  /** How many records exist at the start. */
  readonly history: number
  /** How many records each step of the writer adds. */
  readonly steps: readonly number[]
  readonly readers: readonly Reader[]
  readonly close: boolean
}

export interface Stage<R> {
  /** A source without records; whatever it does late, it does after a `step`. */
  readonly open: (step: () => Promise<void>) => MaybePromise<StreamSource<R>>
  /** Milliseconds that a source may take by itself, if not all its waits are steps. */
  readonly patience: number
}

/** How many turns with nothing to release make a standstill. */
const IDLE = 6
const turn = (): Promise<void> => new Promise((resolve) => (globalThis.setImmediate ?? setTimeout)(() => resolve()))

class Seat<R> {
  readonly seen: R[] = []
  readonly name: string
  readonly reader: Reader
  /** Where its first record may lie in the list of all records. */
  readonly begins: readonly [least: number, most: number]
  end: 'reading' | 'ended' | Error = 'reading'
  stopped = false
  readonly stop: () => void

  constructor(
    source: StreamSource<R>,
    reader: Reader,
    at: number,
    known: readonly R[],
    coming: number,
    step: (label: string) => Promise<void>,
  ) {
    const { from, pause, ahead } = reader
    const start = typeof from === 'number' && known.length > 0 ? (from % known.length) + 1 : from === 'now' ? known.length : 0
    const cursor = from === 'now' ? source.now! : start === 0 ? '' : source.token(known[start - 1]!)
    this.reader = reader
    this.name = `reader ${at} from ${from === 'now' ? 'now' : cursor || 'the start'}`
    // While an append is in progress, now may be before or after it.
    this.begins = [start, from === 'now' ? start + coming : start]
    const controller = new AbortController()
    const stream = source.stream(cursor, controller.signal)
    this.stop = () => {
      this.stopped = true
      if (reader.stop === 'abort') controller.abort()
      else void stream.return?.()
    }
    const read = async (): Promise<void> => {
      for (;;) {
        for (let n = 0; n < pause; n++) await step('pause')
        const answers = await Promise.all(Array.from({ length: ahead }, () => stream.next()))
        for (const answer of answers) if (!answer.done) this.seen.push(answer.value)
        if (answers.some(({ done }) => done)) return
      }
    }
    read().then(
      () => {
        this.end = 'ended'
      },
      (error: Error) => {
        this.end = this.stopped ? 'ended' : error
      },
    )
  }
}

/** Plays a plan. Returns what is wrong. */
export async function play<R>(s: fc.Scheduler, plan: Plan, { open, patience }: Stage<R>): Promise<string[]> {
  const steps = new Steps(s, patience)
  const source = await open(() => steps.take('source'))
  if (plan.history > 0) await source.append(plan.history)
  const scene = new Scene(source, plan, steps, await source.records())
  steps.scheduled = true
  scene.begin()
  await steps.settle(() => scene.isQuiet)
  const faults = scene.faults()
  return [...faults, ...(await scene.end())]
}

/** The steps of everybody, which the scheduler lets happen one at a time. */
class Steps {
  /** Before and after, nothing waits for the scheduler. */
  scheduled = false
  private readonly scheduler: fc.Scheduler
  private readonly patience: number

  constructor(scheduler: fc.Scheduler, patience: number) {
    this.scheduler = scheduler
    this.patience = patience
  }

  take(label: string): Promise<void> {
    return this.scheduled ? this.scheduler.schedule(Promise.resolve(), label) : Promise.resolve()
  }

  /** Lets everything happen that can. */
  async settle(isOver: () => boolean): Promise<void> {
    const until = Date.now() + this.patience
    for (let idle = 0; idle < IDLE || (!isOver() && Date.now() < until); idle++) {
      if (this.scheduler.count() > 0) {
        await this.scheduler.waitOne()
        idle = -1
      } else await turn()
    }
  }
}

/** The writer and the readers of a plan, at work on one source. */
class Scene<R> {
  private readonly source: StreamSource<R>
  private readonly plan: Plan
  private readonly steps: Steps
  private readonly seats: Seat<R>[] = []
  /** All records, as of the last append that is over. */
  private known: readonly R[]
  private written: true | Error | undefined

  constructor(source: StreamSource<R>, plan: Plan, steps: Steps, known: readonly R[]) {
    this.source = source
    this.plan = plan
    this.steps = steps
    this.known = known
  }

  begin(): void {
    this.write().then(
      () => {
        this.written = true
      },
      (error: Error) => {
        this.written = error
      },
    )
  }

  private async write(): Promise<void> {
    for (const [at, count] of this.plan.steps.entries()) {
      await this.steps.take('write')
      this.seat(at, false, 0)
      const appending = this.source.append(count)
      this.seat(at, true, count)
      await appending
      this.known = await this.source.records()
    }
  }

  /** Lets the readers begin whose turn it is, while so many records are being appended. */
  private seat(at: number, eager: boolean, coming: number): void {
    const { source, steps, plan, known } = this
    for (const [n, reader] of plan.readers.entries()) {
      if (reader.when % plan.steps.length !== at || reader.eager !== eager) continue
      if (reader.from === 'now' && source.now === undefined) continue
      const one = new Seat(source, reader, n, known, coming, (label) => steps.take(label))
      this.seats.push(one)
      if (reader.stop !== 'never') void this.stopLater(one)
    }
  }

  private async stopLater(one: Seat<R>): Promise<void> {
    for (let n = 0; n < one.reader.stopAfter; n++) await this.steps.take('stop')
    one.stop()
  }

  /** True once all is written, and every reader has seen it, was stopped, or has ended. */
  get isQuiet(): boolean {
    return (
      this.written !== undefined &&
      this.seats.every((one) => one.stopped || one.end !== 'reading' || faultOf(one, this.known, this.source) === undefined)
    )
  }

  /** What is wrong at a standstill. */
  faults(): string[] {
    const faults: string[] = this.written === true ? [] : [`the writer never came to its end: ${this.written}`]
    for (const one of this.seats) {
      if (one.end instanceof Error) faults.push(`${one.name}: it failed with ${one.end}`)
      else if (one.end === 'ended' && !one.stopped) faults.push(`${one.name}: it ended by itself`)
      if (one.end === 'reading' && one.stopped) faults.push(`${one.name}: stopping by ${one.reader.stop} did not end it`)
      const wrong = faultOf(one, this.known, this.source)
      if (wrong !== undefined) faults.push(`${one.name}: ${wrong}`)
    }
    return faults
  }

  /** Ends every stream, by closing the source or one by one. Returns those that go on. */
  async end(): Promise<string[]> {
    const { source, steps, seats } = this
    const { close } = this.plan
    const reading = (): Seat<R>[] => seats.filter(({ end }) => end === 'reading')
    const closing = close ? source.close?.() : undefined
    if (!close) for (const one of reading()) one.stop()
    await steps.settle(() => reading().length === 0)
    const faults = reading().map(({ name }) => `${name}: ${close ? 'closing' : 'returning'} did not end it`)
    await closing
    steps.scheduled = false
    if (!close) await source.close?.()
    return faults
  }
}

/** What is wrong with what a reader saw, given all records that exist by now. */
function faultOf<R>({ seen, begins: [least, most], stopped }: Seat<R>, all: readonly R[], source: StreamSource<R>): string | undefined {
  const wrong = (begin: number): string | undefined => {
    const at = seen.findIndex((record, n) => textOf(record) !== textOf(all[begin + n]))
    const tell = (record: R | undefined): string => (record === undefined ? 'nothing' : source.token(record))
    if (at >= 0) return `record ${at} that it saw is ${tell(seen[at])}, where ${tell(all[begin + at])} follows`
    // Pulls that were made at once are seen together.
    if (!stopped && seen.length < all.length - begin) return `it waits, and never saw ${tell(all[begin + seen.length])}`
    return undefined
  }
  for (let begin = least; begin <= most; begin++) if (wrong(begin) === undefined) return undefined
  return wrong(least)
}
