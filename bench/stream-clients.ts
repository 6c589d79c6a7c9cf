/**
 * The client end of event streams: processes of bare sockets that report when the events they wait for have arrived. Each process holds a limited
 * number of sockets, spread over several loopback addresses, so that neither file descriptors nor ports run out.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { connect } from 'node:net'
import { now } from './streams.ts'

const SOCKETS = 5_000
const ADDRESSES = 8

export interface Seen {
  readonly events: number
  /** When each chunk arrived that held events. */
  readonly at: readonly number[]
  readonly bytes: number
}

interface Told {
  readonly port?: number
  readonly paths?: readonly string[]
  readonly want?: number
}

/** Clients, in processes of their own. */
export class Clients {
  private readonly children: { readonly process: ChildProcess; sockets: number }[] = []

  private ask(child: ChildProcess, what: Told): Promise<Seen> {
    return new Promise((resolve, reject) => {
      const failed = (code: number | null): void => reject(new Error(`the clients ended with ${code}`))
      child.once('exit', failed)
      child.once('message', (answer) => {
        child.off('exit', failed)
        resolve(answer as Seen)
      })
      child.send(what)
    })
  }

  /** Opens one stream per path and waits for the first bytes of each, or with `want` for that many events. `began` is when it started. */
  async open(port: number, paths: readonly string[], want?: number): Promise<Seen & { readonly began: number }> {
    const parts = Array.from({ length: Math.ceil(paths.length / SOCKETS) }, (_, n) => paths.slice(n * SOCKETS, (n + 1) * SOCKETS))
    const children = parts.map(({ length }) => {
      const child = { process: fork(process.argv[1]!, ['--client'], { serialization: 'advanced' }), sockets: length }
      this.children.push(child)
      return child.process
    })
    await Promise.all(children.map((child) => this.ask(child, {})))
    const began = now()
    const opened = children.map((child, n) => this.ask(child, { port, paths: parts[n]!, ...(want !== undefined && { want }) }))
    return { ...together(await Promise.all(opened)), began }
  }

  /** Once this returns, all clients are counting; `seen` resolves when `want` events have arrived at each process. */
  async expect(want: (sockets: number) => number): Promise<{ readonly seen: Promise<Seen> }> {
    const seen = Promise.all(this.children.map(({ process, sockets }) => this.ask(process, { want: want(sockets) })))
    await new Promise((resolve) => setTimeout(resolve, 10))
    return { seen: seen.then(together) }
  }

  end(): void {
    for (const { process } of this.children) process.kill()
  }
}

const together = (all: readonly Seen[]): Seen => ({
  events: all.reduce((sum, { events }) => sum + events, 0),
  bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
  at: all.flatMap(({ at }) => at),
})

/** The main loop of a client process. */
export function beClients(): void {
  let at: number[] = []
  let events = 0
  let bytes = 0
  let wanted = Number.POSITIVE_INFINITY
  const answer = (): void => void process.send!({ events, at, bytes } satisfies Seen)
  const RECORD = Buffer.from('\ndata: {')
  const take = (chunk: Buffer): void => {
    bytes += chunk.length
    // A record begins after the blank line before it; a chunk begins with one or within one.
    let found = chunk.subarray(0, 7).equals(RECORD.subarray(1)) ? 1 : 0
    for (let i = chunk.indexOf(RECORD); i >= 0; i = chunk.indexOf(RECORD, i + 8)) found++
    if (found === 0) return
    events += found
    at.push(now())
    if (events < wanted) return
    wanted = Number.POSITIVE_INFINITY
    answer()
  }
  const open = (port: number, path: string, n: number): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(port, `127.0.0.${1 + (n % ADDRESSES)}`, () =>
        socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n`),
      )
      socket.once('data', () => resolve())
      socket.on('data', take).on('error', (error) => {
        throw error
      })
    })
  process.on('message', async ({ port, paths, want }: Told) => {
    at = []
    events = 0
    bytes = 0
    wanted = want ?? Number.POSITIVE_INFINITY
    if (port === undefined || paths === undefined) {
      if (want === undefined) answer()
      return
    }
    for (let from = 0; from < paths.length; from += 100)
      await Promise.all(paths.slice(from, from + 100).map((path, n) => open(port, path, n)))
    if (want === undefined) answer()
  })
}
