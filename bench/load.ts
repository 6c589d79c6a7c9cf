/**
 * A load generator: keep-alive connections with one request in flight on each. It uses bare sockets, so that the client costs less than the
 * server and a page of 200 does not measure the client's HTTP parser.
 */
import { connect, type Socket } from 'node:net'

export interface Load {
  readonly count: number
  readonly ms: number
  readonly bytes: number
  /** Time to the end of the response, µs: the median and the 99th percentile. */
  readonly p50: number
  readonly p99: number
}

/** All sockets receive into one buffer of this size, which is read before more bytes arrive. */
const ARRIVED = 256 * 1024

/** The request for a target. Host is the same for every server, since links are made from it. */
export const requestOf = (target: string): Buffer =>
  Buffer.from(`GET ${target} HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nAccept: application/hal+json\r\n\r\n`)

const HEAD_END = Buffer.from('\r\n\r\n')
const arrived = Buffer.allocUnsafeSlow(ARRIVED)

/** Receives the body size of every response, and the error that ended the connection. */
interface Asker {
  answered(size: number): void
  failed(error: Error): void
}

class Connection {
  private readonly socket: Socket
  private head: Buffer | undefined
  private left = -1
  private size = 0
  private kept: Buffer[] | undefined
  private asker: Asker | undefined

  private constructor(port: number, opened: (connection: Connection) => void, failed: (error: Error) => void) {
    const callback = (length: number): boolean => {
      this.take(arrived.subarray(0, length))
      return true
    }
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true, onread: { buffer: arrived, callback } }, () => opened(this))
    this.socket.on('error', (error) => (this.asker ? this.asker.failed(error) : failed(error)))
    this.socket.on('close', () => this.asker?.failed(new Error('the server closed the connection')))
  }

  static open(port: number): Promise<Connection> {
    return new Promise((opened, failed) => new Connection(port, opened, failed))
  }

  private take(chunk: Buffer): void {
    if (this.left < 0) {
      const head = this.head ? Buffer.concat([this.head, chunk]) : chunk
      const end = head.indexOf(HEAD_END)
      if (end < 0) {
        this.head = Buffer.from(head)
        return
      }
      const text = head.toString('latin1', 0, end)
      const length = /\r\ncontent-length: (\d+)/i.exec(text)
      if (!text.startsWith('HTTP/1.1 200') || !length) {
        this.fail(new Error(`unexpected response: ${text}`))
        return
      }
      this.head = undefined
      this.size = Number(length[1])
      this.left = this.size
      chunk = head.subarray(end + HEAD_END.length)
    }
    this.left -= chunk.length
    this.kept?.push(Buffer.from(chunk))
    if (this.left > 0) return
    if (this.left < 0) {
      this.fail(new Error('more bytes than announced'))
      return
    }
    this.left = -1
    this.asker!.answered(this.size)
  }

  private fail(error: Error): void {
    this.asker?.failed(error)
    this.socket.destroy()
  }

  /** Sends a request. */
  ask(request: Buffer, asker: Asker): void {
    this.asker = asker
    if (this.socket.destroyed) asker.failed(new Error('the server closed the connection'))
    else this.socket.write(request)
  }

  async body(request: Buffer): Promise<Buffer> {
    const kept: Buffer[] = []
    this.kept = kept
    await new Promise<number>((answered, failed) => this.ask(request, { answered, failed }))
    this.kept = undefined
    return Buffer.concat(kept)
  }

  close(): void {
    this.asker = undefined
    this.socket.destroy()
  }
}

export class Client {
  private readonly connections: readonly Connection[]

  private constructor(connections: readonly Connection[]) {
    this.connections = connections
  }

  static async open(port: number, connections: number): Promise<Client> {
    return new Client(await Promise.all(Array.from({ length: connections }, () => Connection.open(port))))
  }

  body(target: string): Promise<Buffer> {
    return this.connections[0]!.body(requestOf(target))
  }

  /** Every connection sends its next request as soon as it has its response. */
  async run(requests: readonly Buffer[]): Promise<Load> {
    const times: number[] = []
    let next = 0
    let bytes = 0
    const begin = performance.now()
    const askAll = (connection: Connection): Promise<void> =>
      new Promise((done, failed) => {
        let start = 0
        const ask = (): void => {
          if (next === requests.length) {
            done()
            return
          }
          start = performance.now()
          connection.ask(requests[next++]!, asker)
        }
        const answered = (size: number): void => {
          times.push(performance.now() - start)
          bytes += size
          ask()
        }
        const asker: Asker = { answered, failed }
        ask()
      })
    await Promise.all(this.connections.map(askAll))
    const ms = performance.now() - begin
    times.sort((a, b) => a - b)
    const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))]! * 1000
    return { count: requests.length, ms, bytes, p50: at(0.5), p99: at(0.99) }
  }

  close(): void {
    for (const connection of this.connections) connection.close()
  }
}
