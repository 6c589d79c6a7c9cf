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
export async function play<R>(s: fc.Scheduler, { history, steps, readers, close }: Plan, { open, patience }: Stage<R>): Promise<string[]> {
  let playing = false
  const step = (label: string): Promise<void> => (playing ? s.schedule(Promise.resolve(), label) : Promise.resolve())
  const source = await open(() => step('source'))
  if (history > 0) await source.append(history)
  let known = await source.records()
  playing = true

  const seats: Seat<R>[] = []
  const seat = (at: number, eager: boolean, coming: number): void => {
    for (const [n, reader] of readers.entries())
      if (reader.when % steps.length === at && reader.eager === eager && (reader.from !== 'now' || source.now !== undefined)) {
        const one = new Seat(source, reader, n, known, coming, step)
        seats.push(one)
        if (reader.stop !== 'never') void stopLater(one)
      }
  }
  const stopLater = async (one: Seat<R>): Promise<void> => {
    for (let n = 0; n < one.reader.stopAfter; n++) await step('stop')
    one.stop()
  }
  let written: true | Error | undefined
  const write = async (): Promise<void> => {
    for (const [at, count] of steps.entries()) {
      await step('write')
      seat(at, false, 0)
      const appending = source.append(count)
      seat(at, true, count)
      await appending
      known = await source.records()
    }
  }
  write().then(
    () => {
      written = true
    },
    (error: Error) => {
      written = error
    },
  )

  /** Lets everything happen that can. */
  const settle = async (isOver: () => boolean): Promise<void> => {
    const until = Date.now() + patience
    for (let idle = 0; idle < IDLE || (!isOver() && Date.now() < until); idle++) {
      if (s.count() > 0) {
        await s.waitOne()
        idle = -1
      } else await turn()
    }
  }
  const ended = (): boolean => seats.every(({ end }) => end !== 'reading')
  await settle(
    () => written !== undefined && seats.every((one) => one.stopped || one.end !== 'reading' || faultOf(one, known, source) === undefined),
  )
  const faults: string[] = written === true ? [] : [`the writer never came to its end: ${written}`]
  for (const one of seats) {
    if (one.end instanceof Error) faults.push(`${one.name}: it failed with ${one.end}`)
    else if (one.end === 'ended' && !one.stopped) faults.push(`${one.name}: it ended by itself`)
    if (one.end === 'reading' && one.stopped) faults.push(`${one.name}: stopping by ${one.reader.stop} did not end it`)
    const wrong = faultOf(one, known, source)
    if (wrong !== undefined) faults.push(`${one.name}: ${wrong}`)
  }
  const closing = close ? source.close?.() : undefined
  if (!close) for (const one of seats) if (one.end === 'reading') one.stop()
  await settle(ended)
  for (const one of seats) if (one.end === 'reading') faults.push(`${one.name}: ${close ? 'closing' : 'returning'} did not end it`)
  await closing
  playing = false
  if (!close) await source.close?.()
  return faults
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
