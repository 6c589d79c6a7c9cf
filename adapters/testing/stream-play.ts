/**
 * A source with a writer and several readers, each of whose steps fast-check's scheduler releases in an order of its choice, and what is wrong with
 * what each reader saw.
 */
import type fc from 'fast-check'
import type { MaybePromise } from '../../src/index.ts'
import { type Came, come, faultOf, type Reader, Seat, type StreamSource } from './stream-seat.ts'

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
/** A turn counts as silence of no more milliseconds: where the whole process stands still, the source has no chance to say anything. */
const STALL_MS = 10
/** So do this many steps of which nothing comes, for each record that each reader may see, and so many more: a source that polls takes them for ever. */
const FRUITLESS = { each: 4, more: 500 } as const
/** A reader may see so many times the records that are planned, and so many more: a source may add more than was asked for, but not without end. */
const SEEN = { times: 10, more: 1000 } as const

const planned = ({ history, steps }: Plan): number => steps.reduce((sum, count) => sum + count, history)

const turn = (): Promise<void> => new Promise((resolve) => (globalThis.setImmediate ?? setTimeout)(() => resolve()))

/** Plays a plan. Returns what is wrong. */
export async function play<R>(s: fc.Scheduler, plan: Plan, { open, patience }: Stage<R>): Promise<string[]> {
  const steps = new Steps(s, patience, FRUITLESS.more + FRUITLESS.each * planned(plan) * plan.readers.length)
  const source = await open(() => steps.take('source'))
  const now: unknown = source.now
  if (now !== undefined && typeof now !== 'string')
    throw new TypeError(`the source has a ${typeof now} as \`now\`: it must be a cursor, as text`)
  if (plan.history > 0) await source.append(plan.history)
  const scene = new Scene(source, plan, steps, (await source.records()).map(come))
  steps.scheduled = true
  scene.begin()
  await steps.settle(
    () => scene.isQuiet,
    () => scene.come,
    () => scene.isWriting,
  )
  const faults = scene.faults()
  return [...faults, ...(await scene.end())]
}

/** The steps of everybody, which the scheduler lets happen one at a time. */
class Steps {
  /** Before and after, nothing waits for the scheduler. */
  scheduled = false
  private readonly scheduler: fc.Scheduler
  private readonly patience: number
  /** After how many steps of which nothing comes everything stands still. */
  private readonly most: number

  constructor(scheduler: fc.Scheduler, patience: number, most: number) {
    this.scheduler = scheduler
    this.patience = patience
    this.most = most
  }

  take(label: string): Promise<void> {
    return this.scheduled ? this.scheduler.schedule(Promise.resolve(), label) : Promise.resolve()
  }

  /**
   * Lets everything happen that can, until nothing is left to happen: a step that is taken, and all that comes, is a sign of life, after which the
   * patience begins anew.
   * @param come how much has come of it so far
   * @param isBusy while the writer is at work, what comes of its steps does not show
   */
  async settle(isOver: () => boolean, come: () => number, isBusy = (): boolean => false): Promise<void> {
    let [fruitless, before, silent, last] = [0, come(), 0, performance.now()]
    for (let idle = 0; fruitless < this.most && (idle < IDLE || (!isOver() && silent < this.patience)); idle++) {
      const isStep = this.scheduler.count() > 0
      if (isStep) {
        await this.scheduler.waitOne()
        idle = -1
        fruitless++
      } else await turn()
      const [now, time] = [come(), performance.now()]
      silent = now !== before || isStep ? 0 : silent + Math.min(time - last, STALL_MS)
      if (now !== before || isBusy()) fruitless = 0
      ;[before, last] = [now, time]
    }
  }

  /** What a call that was never answered may have waited for. */
  get waited(): string {
    if (this.patience > 0) return `was not answered, and nothing else came for ${this.patience} ms (\`patience\`)`
    return 'was not answered when no step was left: if it waits for anything else, give the laws `patience`'
  }
}

const notEnded: Readonly<Record<Reader['stop'], string>> = {
  never: 'returning',
  abort: 'stopping by abort',
  return: 'stopping by return',
  before: 'a signal that had aborted before it began',
}

/** The writer and the readers of a plan, at work on one source. */
class Scene<R> {
  private readonly source: StreamSource<R>
  private readonly plan: Plan
  private readonly steps: Steps
  private readonly seats: Seat<R>[] = []
  /** All records, as of the last append that is over. */
  private known: readonly Came<R>[]
  private written: true | Error | undefined
  /** What the writer is at, for messages, and how much it has done. */
  private writing = 'its first step'
  private done = 0
  /** After how many records a reader has seen enough. */
  private readonly most: number

  constructor(source: StreamSource<R>, plan: Plan, steps: Steps, known: readonly Came<R>[]) {
    this.source = source
    this.plan = plan
    this.steps = steps
    this.known = known
    this.most = SEEN.more + SEEN.times * planned(plan)
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
      this.writing = `append(${count}), number ${at + 1} of ${this.plan.steps.length},`
      const appending = this.source.append(count)
      this.seat(at, true, count)
      await appending
      this.done++
      this.writing = `records(), after append number ${at + 1} of ${this.plan.steps.length},`
      this.known = (await this.source.records()).map(come)
      this.done++
    }
  }

  /** Lets the readers begin whose turn it is, while so many records are being appended. */
  private seat(at: number, eager: boolean, coming: number): void {
    const { source, steps, plan, known } = this
    for (const [n, reader] of plan.readers.entries()) {
      if (reader.when % plan.steps.length !== at || reader.eager !== eager) continue
      if (reader.from === 'now' && source.now === undefined) continue
      const one = new Seat(source, reader, n, known, { coming, most: this.most }, (label) => steps.take(label))
      this.seats.push(one)
      if (!one.stopped && reader.stop !== 'never') void this.stopLater(one)
    }
  }

  private async stopLater(one: Seat<R>): Promise<void> {
    for (let n = 0; n < one.reader.stopAfter; n++) await this.steps.take('stop')
    one.stop()
  }

  get isWriting(): boolean {
    return this.written === undefined
  }

  /** Changes as long as something comes of the steps. */
  get come(): number {
    return this.seats.reduce(
      (sum, { answered, end, returned, afterwards }) => {
        const settled = [end !== 'reading', returned !== 'pending', afterwards !== 'pending'].filter((is) => is)
        return sum + answered + settled.length
      },
      this.done + (this.isWriting ? 0 : 1),
    )
  }

  /** True once all is written, and every reader has seen it, or has ended, as it must once it was stopped. */
  get isQuiet(): boolean {
    return (
      !this.isWriting &&
      this.seats.every((one) => one.end !== 'reading' || (!one.stopped && faultOf(one, this.known, this.source) === undefined))
    )
  }

  /** What is wrong at a standstill. */
  faults(): string[] {
    const why = this.written ?? `${this.writing} ${this.steps.waited}`
    const faults: string[] = this.written === true ? [] : [`the writer never came to its end: ${why}`]
    for (const one of this.seats) {
      if (one.end instanceof Error) faults.push(`${one.name}: it failed with ${one.end}`)
      else if (one.end === 'ended' && !one.stopped) faults.push(`${one.name}: it ended by itself`)
      if (one.end === 'reading' && one.stopped) faults.push(`${one.name}: ${notEnded[one.reader.stop]} did not end it`)
      const wrong = faultOf(one, this.known, this.source)
      if (wrong !== undefined) faults.push(`${one.name}: ${wrong}`)
    }
    return faults
  }

  /** A reader that begins once all is closed; to be refused is an end, too. */
  private lateReader(): Pick<Seat<R>, 'end'> | undefined {
    const { source, steps, known } = this
    const reader: Reader = { ...{ from: 'start', when: 0, eager: false, pause: 0, ahead: 1 }, stop: 'never', stopAfter: 0 }
    try {
      return new Seat(source, reader, this.seats.length, known, { coming: 0, most: this.most }, (label) => steps.take(label))
    } catch {
      return undefined
    }
  }

  /** Ends every stream, by closing the source or one by one. Returns those that go on. */
  async end(): Promise<string[]> {
    const { source, steps, seats } = this
    const { close } = this.plan
    const reading = (): Seat<R>[] => seats.filter(({ end }) => end === 'reading')
    const closing = close ? source.close?.() : undefined
    if (!close) for (const one of reading()) one.stop()
    const come = (): number => this.come
    await steps.settle(() => reading().length === 0, come)
    const faults = reading().map(({ name }) => `${name}: ${close ? 'closing' : 'returning'} did not end it`)
    const late = close ? this.lateReader() : undefined
    for (const one of seats) one.pullAgain()
    await steps.settle(
      () => late?.end !== 'reading' && seats.every(({ returned, afterwards }) => ![returned, afterwards].includes('pending')),
      come,
    )
    if (late?.end === 'reading') faults.push('a stream that began after the close did not end')
    for (const { name, returned, afterwards } of seats) {
      if (returned === 'pending') faults.push(`${name}: its return() was never answered`)
      if (returned instanceof Error) faults.push(`${name}: its return() failed with ${returned}`)
      if (afterwards === 'pending') faults.push(`${name}: a pull after its end was never answered`)
      if (afterwards === 'a record') faults.push(`${name}: a pull after its end gave a record`)
    }
    await closing
    steps.scheduled = false
    if (!close) await source.close?.()
    return faults
  }
}
