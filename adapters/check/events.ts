/**
 * Reads an event stream as far as a law wants it, and no longer than it may be silent.
 * What comes is kept as it came, since its form is a matter of laws; it is read as any EventSource would read it.
 */

export interface ServedEvent {
  /** `message`, unless the event names another. */
  readonly type: string
  readonly data: string
  /** Its own; undefined if it has none. */
  readonly id: string | undefined
}

/** How long a reader waits. */
interface Patience {
  /** For how many milliseconds a service may be silent. */
  readonly silence: number
  /** How many the check has left. */
  left(): number
  /** Why less than the silence was waited for. */
  late(): Error
  /** Why the check was stopped, if it was. */
  stopped(): Error | undefined
}

/** A service that sends more without being asked is cut off. */
const MAX_LENGTH = 2 ** 24

/** Why no more was read: there was enough; nothing came; the service ended the stream; the connection broke. */
export type Came = 'enough' | 'silence' | 'end' | 'break'

/** What came instead of enough, in words. */
export const instead: Readonly<Record<Exclude<Came, 'enough'>, string>> = {
  silence: 'and then nothing',
  end: 'and then its end',
  break: 'and then the connection broke',
}

/** The events of a text that are complete. Those without data are none. */
export function eventsIn(text: string): ServedEvent[] {
  const blocks = text.replace(/\r\n?/g, '\n').split('\n\n').slice(0, -1)
  return blocks.flatMap((block) => {
    const fields = block.split('\n').map((line) => /^([^:]*)(?:: ?(.*))?$/.exec(line)?.slice(1) ?? [])
    const last = (wanted: string): string | undefined => fields.findLast(([name]) => name === wanted)?.[1]
    const data = fields.filter(([name]) => name === 'data').map(([, value = '']) => value)
    return data.length === 0 ? [] : [{ type: last('event') || 'message', data: data.join('\n'), id: last('id') }]
  })
}

export class Events {
  /** All that came. */
  text = ''
  private readonly reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  private readonly decoder = new TextDecoder()
  private readonly patience: Patience
  private readonly stop: () => void
  /** A read that took too long and may still be answered. */
  private pending: Promise<'end' | 'break' | undefined> | undefined

  /** @param stop lets go of the connection */
  constructor(body: ReadableStream<Uint8Array> | null, patience: Patience, stop: () => void) {
    this.reader = body?.getReader()
    this.patience = patience
    this.stop = stop
  }

  /**
   * Reads on until there is enough.
   * @param ms how long it may be silent, if not as long as was said
   * @throws Exhausted if the share of the time has passed, or the check is stopped
   */
  async until(enough: (events: readonly ServedEvent[]) => boolean, ms = this.patience.silence): Promise<Came> {
    for (;;) {
      if (enough(eventsIn(this.text))) return 'enough'
      if (this.text.length > MAX_LENGTH) return 'end'
      const left = Math.max(0, this.patience.left())
      const came = await this.within(Math.min(ms, left))
      if (came === undefined) continue
      const stopped = came === 'end' ? undefined : this.patience.stopped()
      if (stopped) throw stopped
      // A timer may fire a little early, so the clock does not tell whose time has passed.
      if (came === 'silence' && left < ms) throw this.patience.late()
      return came
    }
  }

  /** Lets the service know that nobody reads any more. */
  close(): void {
    this.reader?.cancel().catch(() => {})
    this.stop()
  }

  private async within(ms: number): Promise<'silence' | 'end' | 'break' | undefined> {
    this.pending ??= this.read()
    let timer: ReturnType<typeof setTimeout> | undefined
    const silence = new Promise<'silence'>((resolve) => {
      timer = setTimeout(() => resolve('silence'), ms)
    })
    const came = await Promise.race([this.pending, silence])
    clearTimeout(timer)
    if (came !== 'silence') this.pending = undefined
    return came
  }

  private async read(): Promise<'end' | 'break' | undefined> {
    try {
      const { done = true, value } = (await this.reader?.read()) ?? {}
      if (done) return 'end'
      this.text += this.decoder.decode(value, { stream: true })
      return undefined
    } catch {
      return 'break'
    }
  }
}
