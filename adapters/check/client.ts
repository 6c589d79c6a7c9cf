/** Asks a service over HTTP within bounds: a number of requests, a length of time, one request at a time. */
import { concat, parseJson } from '../../src/index.ts'
import { Events } from './events.ts'

export interface Bounds {
  /** The most requests. Default: 3,000. */
  readonly requests?: number | undefined
  /** The longest time in milliseconds. Default: 60,000. */
  readonly ms?: number | undefined
  /** Ends the check early. */
  readonly signal?: AbortSignal | undefined
  /** The function that fetches: method, headers and signal are laws' own, and must be passed on. Default: the global `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export const boundDefaults = { requests: 3000, ms: 60_000 } satisfies Bounds

/** A bound was reached: nothing is wrong, but nothing more can be said. */
export class Exhausted extends Error {}

/** A share was used up; what others leave over may do. */
export class Spent extends Exhausted {}

/** The service asks to be left alone. That says nothing of what it would answer. */
export class Busy extends Exhausted {}

/** Nobody answers. */
export class Unreachable extends Error {
  constructor(url: string, reason: string) {
    super(`GET ${url}: ${reason}`)
  }
}

/** What a request says besides its URL. */
export interface Asking {
  /** Default: GET. */
  readonly method?: string
  /** By names in lower case; these win over those of {@link Bounds}. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The text as JSON, integers beyond 2^53 as bigint; undefined if it is not JSON. */
  readonly body: any
}

/** What a service that is asked for an event stream answers with: that, to be closed, or anything else. */
export type Begun =
  | { readonly events: Events; readonly headers: Headers; readonly answer?: undefined }
  | { readonly events?: undefined; readonly answer: Answer }

/** What is asked for, unless a law asks for something else. */
const ACCEPT = 'application/hal+json, application/json;q=0.9'
const STREAM = 'text/event-stream'

/** The bodies of pages are small; a service that sends more is not asked to stop, but cut off. */
const MAX_BYTES = 64 * 2 ** 20
const ANSWER_MS = 15_000
const BUSY_TRIES = 5

/** Resolves after so many milliseconds, or at the signal. */
const wait = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done)
    if (signal?.aborted) done()
  })

export class Client {
  readonly started = performance.now()
  requests = 0
  /** Called with every answer that a law is given, and what its request accepts; undefined if that is {@link ACCEPT}. */
  watch: ((url: string, accept: string | undefined, answer: Answer) => void) | undefined
  /** Of the first answer, which is that of the URL to check. */
  status: number | undefined
  /** The URL of the first answer: while that is answered, the service is there. */
  private home: string | undefined
  /** The request that was not answered, and since which nothing is. */
  private gone: string | undefined
  private readonly bounds: Bounds
  private readonly most: number
  private readonly ms: number
  /** Where the share being used up now ends. */
  private until: { readonly requests: number; readonly ms: number }

  constructor(bounds: Bounds = {}) {
    this.bounds = bounds
    this.most = bounds.requests ?? boundDefaults.requests
    this.ms = bounds.ms ?? boundDefaults.ms
    this.until = { requests: this.most, ms: this.ms }
  }

  /** True once nothing is answered any more. The request that showed it fails as {@link Unreachable}; those after it say nothing of the service. */
  get isGone(): boolean {
    return this.gone !== undefined
  }

  get elapsed(): number {
    return performance.now() - this.started
  }

  /**
   * Hands out a part of what is left, to be used until the next share is handed out.
   * @returns how many requests that is
   */
  share(part: number): number {
    const requests = Math.floor((this.most - this.requests) * part)
    this.until = { requests: this.requests + requests, ms: this.elapsed + (this.ms - this.elapsed) * part }
    return requests
  }

  /**
   * Asks again if the service is busy (429, 503), after the time that it asks for, or else after longer and longer.
   * @throws Exhausted; Busy, if it stays so; Unreachable if no answer comes
   */
  async get(url: string, asking: Asking = {}): Promise<Answer> {
    const answer = await this.patiently(url, asking, answerOf)
    this.watch?.(url, asking.headers?.['accept'] ?? new Headers(this.bounds.headers).get('accept') ?? undefined, answer)
    return answer
  }

  /**
   * Asks for an event stream, as patiently as for a page.
   * @param silence how many milliseconds may pass until something comes, and in between
   * @throws as {@link get}
   */
  async stream(url: string, silence: number, headers: Asking['headers'] = {}): Promise<Begun> {
    const { signal } = this.bounds
    const patience = {
      silence,
      left: () => this.until.ms - this.elapsed,
      late: () => this.late(),
      stopped: () => (signal?.aborted ? new Exhausted('stopped') : undefined),
    }
    const begun = await this.patiently<Begun>(url, { headers: { ...headers, accept: STREAM } }, async (response, stop) => {
      const type = response.headers.get('content-type') ?? ''
      if (response.status !== 200 || !type.toLowerCase().startsWith(STREAM)) return { answer: await answerOf(response) }
      return { headers: response.headers, events: new Events(response.body, patience, () => stop.abort()) }
    })
    if (begun.answer) this.watch?.(url, STREAM, begun.answer)
    return begun
  }

  private late(): Spent {
    return new Spent(`its share of the ${this.ms / 1000} s has passed`)
  }

  private async patiently<T>(url: string, asking: Asking, take: Take<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      const came = await this.send(url, asking, async (response, stop) => {
        const { status, headers } = response
        this.status ??= status
        this.home ??= url
        if (status !== 429 && status !== 503) return { taken: await take(response, stop) }
        // Otherwise its connection would not be free for the next request.
        await answerOf(response)
        return { status, ms: msOf(headers.get('retry-after')) ?? 500 * 2 ** tries }
      })
      if ('taken' in came) return came.taken
      if (tries === BUSY_TRIES) throw new Busy(`GET ${url} was answered ${came.status}, ${tries} times in a row`)
      await wait(Math.min(this.until.ms - this.elapsed, came.ms), this.bounds.signal)
    }
  }

  /** @throws as {@link get} */
  private async send<T>(url: string, asking: Asking, take: Take<T>): Promise<T> {
    const { signal } = this.bounds
    if (signal?.aborted) throw new Exhausted('stopped')
    if (this.gone !== undefined) throw new Exhausted(`nothing is answered since ${this.gone}`)
    if (this.requests >= this.until.requests) throw new Spent(`its share of the ${this.most} requests was used`)
    const ms = this.until.ms - this.elapsed
    if (ms <= 0) throw this.late()
    const stop = new AbortController()
    try {
      return await this.once(url, asking, take, stop, ms)
    } catch (error) {
      if (signal?.aborted) throw new Exhausted('stopped')
      if (stop.signal.aborted && ms < ANSWER_MS) throw this.late()
      const reason = stop.signal.aborted ? `no answer within ${ANSWER_MS / 1000} s` : reasonOf(error)
      if (await this.isThere()) throw new Unreachable(url, reason)
      this.gone = `${asking.method ?? 'GET'} ${url}`
      throw new Unreachable(url, `${reason}; nothing else is answered since`)
    }
  }

  /** Whether anybody answers where there was an answer before; true as well if there is no time to tell. */
  private async isThere(): Promise<boolean> {
    if (this.home === undefined) return true
    const stop = new AbortController()
    const left = this.ms - this.elapsed
    const close = async ({ body }: Response): Promise<void> => body?.cancel()
    try {
      await this.once(this.home, {}, close, stop, left)
      return true
    } catch {
      return (stop.signal.aborted && left < ANSWER_MS) || (this.bounds.signal?.aborted ?? false)
    }
  }

  /**
   * A request.
   * @param take reads the response; what it leaves open is not bound by the time for an answer
   * @param stop aborts it, and is aborted after so many milliseconds, or {@link ANSWER_MS} if that is less
   * @throws what `fetch` throws, or the reason of the signal
   */
  private async once<T>(
    url: string,
    { method = 'GET', headers = {} }: Asking,
    take: Take<T>,
    stop: AbortController,
    ms: number,
  ): Promise<T> {
    const { signal, fetch = globalThis.fetch, headers: given = {} } = this.bounds
    this.requests++
    const timer = setTimeout(() => stop.abort(), Math.ceil(Math.min(ms, ANSWER_MS)))
    try {
      const said = new Headers({ accept: ACCEPT })
      for (const [name, value] of [...Object.entries(given), ...Object.entries(headers)]) said.set(name, value)
      const init = {
        method,
        headers: Object.fromEntries(said),
        signal: signal ? AbortSignal.any([signal, stop.signal]) : stop.signal,
      }
      const again = (error: { cause?: { code?: unknown } }): Promise<Response> => {
        if (!isLost(error)) throw error
        this.requests++
        return fetch(url, init)
      }
      // The next one that is kept may have been closed, too.
      const taken = (async () => take(await fetch(url, init).catch(again).catch(again), stop))()
      return await orAborted(taken, init.signal)
    } finally {
      clearTimeout(timer)
    }
  }
}

/** The work, or what the signal says as soon as it aborts: a fetch that a caller gives may not heed it. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop)
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    // As long as somebody listens to it, a signal that follows one of the caller's is held by that.
    signal.removeEventListener('abort', stop)
  }
}

type Take<T> = (response: Response, stop: AbortController) => Promise<T>

/** The milliseconds of a Retry-After, which is a number of seconds or a date; undefined if it names no time to come. */
function msOf(header: string | null): number | undefined {
  const ms = header === null ? 0 : Number.isNaN(Number(header)) ? Date.parse(header) - Date.now() : 1000 * Number(header)
  return ms > 0 ? ms : undefined
}

/** Whether a connection ended before any answer: a service may close one that it kept at the moment when it is used again, so that is no fault. */
const isLost = (error: { cause?: { code?: unknown } } | undefined): boolean =>
  ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'].includes(String(error?.cause?.code))

/** What `fetch` throws says only that it failed; its cause says why, and with several addresses each has its own. */
function reasonOf(error: unknown): string {
  const { cause, errors, message } = error as { cause?: unknown; errors?: readonly unknown[]; message?: string }
  if (cause !== undefined) return reasonOf(cause)
  return errors?.[0] === undefined ? (message ?? String(error)) : reasonOf(errors[0])
}

async function answerOf(response: Response): Promise<Answer> {
  const { status, headers } = response
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > MAX_BYTES) return { status, headers, text: '', body: undefined }
    chunks.push(chunk)
  }
  const text = new TextDecoder().decode(concat(chunks))
  try {
    return { status, headers, text, body: parseJson(text) }
  } catch {
    return { status, headers, text, body: undefined }
  }
}
