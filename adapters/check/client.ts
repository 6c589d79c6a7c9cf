/** Reads JSON over HTTP within bounds: a number of requests, a length of time, one request at a time. */
import { concat, parseJson } from '../../src/index.ts'

export interface Bounds {
  /** The most requests. Default: 2,000. */
  readonly requests?: number | undefined
  /** The longest time in milliseconds. Default: 60,000. */
  readonly ms?: number | undefined
  /** Ends the check early. */
  readonly signal?: AbortSignal | undefined
  /** The function that fetches. Default: the global `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export const boundDefaults = { requests: 2000, ms: 60_000 } satisfies Bounds

/** A bound was reached: nothing is wrong, but nothing more can be said. */
export class Exhausted extends Error {}

/** The service asks to be left alone. That says nothing of what it would answer. */
export class Busy extends Exhausted {}

/** Nobody answers. */
export class Unreachable extends Error {
  constructor(url: string, reason: string) {
    super(`GET ${url}: ${reason}`)
  }
}

export interface Answer {
  readonly status: number
  /** The body as JSON, integers beyond 2^53 as bigint; undefined if it is not JSON. */
  readonly body: any
}

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
  /** Of the first answer, which is that of the URL to check. */
  status: number | undefined
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
  async get(url: string): Promise<Answer> {
    for (let tries = 1; ; tries++) {
      const { retryAfter = 500 * 2 ** tries, ...answer } = await this.send(url)
      this.status ??= answer.status
      if (answer.status !== 429 && answer.status !== 503) return answer
      if (tries === BUSY_TRIES) throw new Busy(`GET ${url} was answered ${answer.status}, ${tries} times in a row`)
      await wait(Math.min(this.until.ms - this.elapsed, retryAfter), this.bounds.signal)
    }
  }

  private async send(url: string): Promise<Answer & { readonly retryAfter: number | undefined }> {
    const { signal, fetch = globalThis.fetch, headers } = this.bounds
    if (signal?.aborted) throw new Exhausted('stopped')
    if (this.requests >= this.until.requests) throw new Exhausted(`its share of the ${this.most} requests was used`)
    const ms = this.until.ms - this.elapsed
    const late = `its share of the ${this.ms / 1000} s has passed`
    if (ms <= 0) throw new Exhausted(late)
    this.requests++
    const timeout = AbortSignal.timeout(Math.ceil(Math.min(ms, ANSWER_MS)))
    try {
      const init = {
        headers: { accept: 'application/hal+json, application/json;q=0.9', ...headers },
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      }
      const again = (error: { cause?: { code?: unknown } }): Promise<Response> => {
        if (!isLost(error)) throw error
        this.requests++
        return fetch(url, init)
      }
      // The next one that is kept may have been closed, too.
      const response = await fetch(url, init).catch(again).catch(again)
      return { status: response.status, body: await bodyOf(response), retryAfter: msOf(response.headers.get('retry-after')) }
    } catch (error) {
      if (signal?.aborted) throw new Exhausted('stopped')
      if (timeout.aborted && ms < ANSWER_MS) throw new Exhausted(late)
      throw new Unreachable(url, timeout.aborted ? `no answer within ${ANSWER_MS / 1000} s` : reasonOf(error))
    }
  }
}

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

async function bodyOf(response: Response): Promise<unknown> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > MAX_BYTES) return undefined
    chunks.push(chunk)
  }
  try {
    return parseJson(new TextDecoder().decode(concat(chunks)))
  } catch {
    return undefined
  }
}
