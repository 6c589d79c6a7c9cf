/** One client of an event stream, as small as it can be: a socket, the ids that came, and where it resumes. */
import { connect, type Socket } from 'node:net'

export interface Followed {
  readonly port: number
  readonly path: string
  /** The tokens that must come, in their order. */
  readonly wanted: readonly string[]
  /** Where it begins: so many of them are history for it. */
  readonly from: number
  /** Called with what is wrong. */
  readonly fault: (what: string) => void
}

export class Follower {
  /** The place of the next token. */
  at: number
  greeted = false
  /** The other side has ended the connection. */
  over = false
  /** How often it resumed the stream. */
  resumed = 0
  socket: Socket | undefined
  private text = ''
  readonly given: Followed

  constructor(given: Followed) {
    this.given = given
    this.at = given.from
  }

  get done(): boolean {
    return this.at === this.given.wanted.length
  }

  /** Asks for what comes after the last token that it has seen. */
  connect(): void {
    const { port, path, wanted } = this.given
    const last = this.at > 0 ? `Last-Event-ID: ${wanted[this.at - 1]}\r\n` : ''
    this.text = ''
    this.over = false
    const socket = connect({ port, host: '127.0.0.1' })
    this.socket = socket
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x.test\r\nAccept: text/event-stream\r\n${last}\r\n`)
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => this.socket === socket && this.take(text))
    socket.on('error', () => {})
    socket.on('close', () => {
      if (this.socket === socket) this.over = true
    })
  }

  /** Ends the connection, wherever it is. */
  cut(): void {
    const { socket } = this
    this.socket = undefined
    this.over = true
    socket?.destroy()
  }

  resume(): void {
    this.resumed++
    this.connect()
  }

  /** Events as they come: a record counts when its blank line is there. */
  private take(more: string): void {
    const text = this.text + more
    let from = 0
    for (;;) {
      const id = text.indexOf('\nid: ', from)
      const end = id < 0 ? -1 : text.indexOf('\n\n', id + 5)
      if (end < 0) break
      if (text[id - 1] === '}') this.record(text.slice(id + 5, end))
      else this.greeted = true
      from = end + 2
    }
    this.text = text.slice(from)
    if (!this.greeted && this.text.startsWith('HTTP/1.1') && !this.text.startsWith('HTTP/1.1 200'))
      this.given.fault(this.text.slice(0, 300))
    if (this.text.includes('event: error')) this.given.fault(`${this.given.path}: ${this.text.slice(0, 300)}`)
  }

  private record(token: string): void {
    const { wanted, path, fault } = this.given
    if (token !== wanted[this.at]) fault(`${path}: ${token} came in place of ${wanted[this.at]}`)
    this.at = wanted.indexOf(token, Math.max(0, this.at - 1)) + 1
  }
}
