/** One reader of a stream: where it begins, how it pulls and stops, and what it saw. */
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
  /** How it is stopped; `before` by a signal that had aborted when it began. */
  readonly stop: 'never' | 'abort' | 'return' | 'before'
  /** Scheduled steps until it stops. */
  readonly stopAfter: number
}

/** A record with what it said when it came: its source may change it afterwards. */
export interface Came<R> {
  readonly record: R
  readonly text: string
}

export const come = <R>(record: R): Came<R> => ({ record, text: textOf(record) })

/** How a law sees a promise that may never settle. */
function track<T>(coming: Promise<T>, seen: (outcome: T | Error) => void): void {
  coming.then(seen, (error) => seen(error instanceof Error ? error : new Error(String(error))))
}

export class Seat<R> {
  readonly seen: Came<R>[] = []
  /** How many pulls were answered; of those that were made at once, none is seen before all are answered. */
  answered = 0
  readonly name: string
  readonly reader: Reader
  /** Where its first record may lie in the list of all records. */
  readonly begins: readonly [least: number, most: number]
  /** Left: it gave far more records than there are, and is stopped. */
  end: 'reading' | 'ended' | 'left' | Error = 'reading'
  stopped = false
  readonly stop: () => void
  /** What its return gave, once it was returned. */
  returned: 'pending' | 'done' | Error | undefined
  /** What a pull after its end gives. */
  afterwards: 'pending' | 'done' | 'a record' | undefined
  private readonly stream: AsyncIterator<R>

  constructor(
    source: StreamSource<R>,
    reader: Reader,
    at: number,
    known: readonly Came<R>[],
    { coming, most }: { readonly coming: number; readonly most: number },
    step: (label: string) => Promise<void>,
  ) {
    const { from, pause, ahead } = reader
    const start = typeof from === 'number' && known.length > 0 ? (from % known.length) + 1 : from === 'now' ? known.length : 0
    const cursor = from === 'now' ? source.now! : start === 0 ? '' : source.token(known[start - 1]!.record)
    this.reader = reader
    this.name = `reader ${at} from ${from === 'now' ? 'now' : cursor || 'the start'}`
    // While an append is in progress, now may be before or after it.
    this.begins = [start, from === 'now' ? start + coming : start]
    const controller = new AbortController()
    if (reader.stop === 'before') {
      controller.abort()
      this.stopped = true
    }
    const stream = source.stream(cursor, controller.signal)
    this.stream = stream
    this.stop = () => {
      this.stopped = true
      if (reader.stop === 'abort') controller.abort()
      else this.return()
    }
    const read = async (): Promise<'ended' | 'left'> => {
      for (;;) {
        for (let n = 0; n < pause; n++) await step('pause')
        const answers = await Promise.all(Array.from({ length: ahead }, () => this.counted(stream.next())))
        for (const answer of answers) if (!answer.done) this.seen.push(come(answer.value))
        if (answers.some(({ done }) => done)) return 'ended'
        if (this.seen.length > most) return 'left'
      }
    }
    read().then(
      (end) => {
        this.end = end
        if (end === 'left') this.stop()
      },
      (error: Error) => {
        this.end = this.stopped ? 'ended' : error
      },
    )
  }

  private counted<T>(pull: Promise<T>): Promise<T> {
    track(pull, () => this.answered++)
    return pull
  }

  private return(): void {
    if (!this.stream.return) return
    this.returned = 'pending'
    track(this.stream.return(), (outcome) => {
      this.returned = outcome instanceof Error ? outcome : 'done'
    })
  }

  /** Pulls once more, as a loop does that was not told of the end. */
  pullAgain(): void {
    if (this.end !== 'ended') return
    this.afterwards = 'pending'
    // That it fails again is as good an end as any.
    track(this.stream.next(), (outcome) => {
      this.afterwards = outcome instanceof Error || outcome.done ? 'done' : 'a record'
    })
  }
}

/** What is wrong with what a reader saw, given all records that exist by now. */
export function faultOf<R>(
  { seen, begins: [least, most], stopped }: Seat<R>,
  all: readonly Came<R>[],
  source: StreamSource<R>,
): string | undefined {
  const wrong = (begin: number): string | undefined => {
    const at = seen.findIndex(({ text }, n) => text !== all[begin + n]?.text)
    const tell = (one: Came<R> | undefined): string => (one === undefined ? 'nothing' : source.token(one.record))
    if (at >= 0) {
      const [saw, follows] = [seen[at], all[begin + at]]
      const [shown, wanted] = [tell(saw), tell(follows)]
      if (shown === wanted)
        return `record ${at} that it saw, ${shown}, was ${saw?.text}, and is ${follows?.text} in the list of all records`
      return `record ${at} that it saw is ${shown}, where ${wanted} follows`
    }
    // Pulls that were made at once are seen together.
    if (!stopped && seen.length < all.length - begin) return `it waits, and never saw ${tell(all[begin + seen.length])}`
    return undefined
  }
  for (let begin = least; begin <= most; begin++) if (wrong(begin) === undefined) return undefined
  return wrong(least)
}
