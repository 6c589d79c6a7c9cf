/**
 * The requests of each socket, answered one at a time and in their order, and sent together with what other sockets are answered in the same
 * turn of the event loop: a reader that sleeps is woken once for all of them, and waking costs as much as writing.
 * **Invariants:** one answer is under way on a socket, and a bounded number of requests wait behind it, so that a client that sends and does
 * not read costs one answer; what is refused before it became a request is answered in its turn as well, and ends the connection.
 */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { isPromise, type MaybePromise } from '../../src/index.ts'
import { type CoreResponse, problemResponse } from './message.ts'
import { badParameter, type ProblemName } from './problem.ts'
import { pump } from './pump.ts'
import { Stalls } from './stall.ts'

/** Works out the answer to a request, when its turn has come. */
type Answer = (request: IncomingMessage) => MaybePromise<CoreResponse>

interface Waiting {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly answer: Answer
}

/** The requests of one socket: the one being answered, and those behind it. */
interface Turn {
  busy: boolean
  /** What is being answered has no end by itself. */
  streams: boolean
  /** No further request of this socket is taken. */
  full: boolean
  /** Requests that came after that. */
  dropped: number
  /** What to say at the end, and then close. */
  refusal: ProblemName | undefined
  /** A request did not arrive in time, while nothing was read of the socket. */
  late: boolean
  /** Bytes that had been read of the socket when its last request was taken. */
  read: number
  /** To be called when the answer under way was sent. */
  release: (() => void) | undefined
  readonly waiting: Waiting[]
}

/** An answer that was worked out and is not sent yet. */
interface Ready {
  readonly turn: Turn
  readonly response: ServerResponse
  readonly answer: CoreResponse
}

/** More than a socket is read of in one go: who sends no more than that is closed in order, behind the last answer. */
const MAX_DROPPED = 4096

/** How long a client is waited for. */
type Waits = Readonly<Record<'stallMs' | 'headersMs', number>>

export class Turns {
  private readonly turns = new WeakMap<Duplex, Turn>()
  private readonly maxQueued: number
  /** Where the server is ours. */
  private readonly stalls: Stalls | undefined
  private readonly headersMs: number | undefined
  /** In the order in which they became ready. */
  private ready: Ready[] = []
  /** Every answer is the last one of its connection, unless requests wait behind it. */
  private closing = false

  /** @param waits for what a client takes and sends; without them, that is up to whose server it is */
  constructor(maxQueued: number, waits?: Waits) {
    this.maxQueued = maxQueued
    this.stalls = waits && new Stalls(waits.stallMs)
    this.headersMs = waits?.headersMs
  }

  private of(socket: Duplex): Turn {
    let turn = this.turns.get(socket)
    if (!turn) {
      turn = {
        busy: false,
        streams: false,
        full: false,
        dropped: 0,
        refusal: undefined,
        late: false,
        read: 0,
        release: undefined,
        waiting: [],
      }
      this.turns.set(socket, turn)
    }
    return turn
  }

  /** Answers a request when those before it on its socket are answered. */
  take(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
    const turn = this.of(request.socket)
    if (turn.full) {
      // Node holds them until the answers before them are sent, and an event stream is never over.
      if (++turn.dropped > MAX_DROPPED) request.socket.destroy()
      return
    }
    turn.read = request.socket.bytesRead
    turn.late = false
    const next = { request, response, answer }
    if (!turn.busy) {
      this.start(turn, next)
      return
    }
    if (turn.waiting.length < this.maxQueued) turn.waiting.push(next)
    // The last one that is taken closes the connection; what the client sent after it, it must send again.
    turn.full = turn.waiting.length >= this.maxQueued
  }

  private start(turn: Turn, { request, response, answer }: Waiting): void {
    const { socket } = request
    turn.busy = true
    response.on('close', () => {
      // A socket that was torn down may have taken a part of an answer: its memory is left to the collector.
      if (!socket.destroyed) turn.release?.()
      this.stalls?.over(response)
      turn.busy = false
      turn.streams = false
      turn.release = undefined
      const next = turn.waiting.shift()
      if (socket.destroyed) turn.waiting.length = 0
      else if (next) this.start(turn, next)
      else if (turn.refusal !== undefined) answerRaw(socket, turn.refusal)
      else if (turn.late) setTimeout(() => turn.late && this.refuse(socket, 'request_timeout'), this.headersMs).unref()
    })
    const ready = answer(request)
    if (isPromise(ready)) void ready.then((found) => this.send(turn, response, found))
    else this.send(turn, response, ready)
  }

  private send(turn: Turn, response: ServerResponse, answer: CoreResponse): void {
    turn.streams = answer.frames !== undefined
    if (answer.frames) pump(response, answer, answer.frames)
    else if (this.ready.push({ turn, response, answer }) === 1) setImmediate(this.flush)
  }

  private readonly flush = (): void => {
    const { ready } = this
    this.ready = []
    for (const { turn, response, answer } of ready) {
      if (response.destroyed || response.headersSent) continue
      turn.release = answer.release
      const last = (turn.full || this.closing) && turn.waiting.length === 0 && turn.refusal === undefined
      write(response, answer, last)
      this.stalls?.sent(response)
    }
  }

  /** From now on the last answer of each connection says that it is that. */
  close(): void {
    this.closing = true
  }

  /** Nothing is under way on a socket: no answer, no end, and no request of which a part was read. */
  isIdle(socket: Socket): boolean {
    const { busy = false, read = 0 } = this.turns.get(socket) ?? {}
    return !busy && !socket.writableEnded && socket.bytesRead === read
  }

  /** Ends a connection with a problem, after the answers to what came before it. */
  refuse(socket: Duplex, name: ProblemName): void {
    const turn = this.of(socket)
    // Nothing that could be sent into a stream would be understood.
    if (turn.streams) return void socket.destroy()
    if (turn.full && turn.refusal === undefined && turn.busy) return
    // What is missing of a request may wait unread behind the answer: it has its time from when that was taken.
    turn.late = name === 'request_timeout' && turn.busy && socket.isPaused()
    if (turn.late) return
    turn.full = true
    turn.refusal ??= name
    if (!turn.busy) answerRaw(socket, turn.refusal)
  }
}

function write(response: ServerResponse, { status, headers, parts }: CoreResponse, last: boolean): void {
  const { socket } = response
  response.writeHead(status, last ? [...headers, 'connection', 'close'] : headers)
  if (parts.length < 2) {
    response.end(parts[0])
    return
  }
  socket?.cork()
  const final = parts.length - 1
  for (let i = 0; i < final; i++) response.write(parts[i])
  response.end(parts[final])
  socket?.uncork()
}

/** What the parser made nothing of has no parameter to name. */
const malformed = badParameter('request', 'a well-formed HTTP/1.1 message')

/** Writes a whole response by hand and ends the connection. */
function answerRaw(socket: Duplex, name: ProblemName): void {
  if (!socket.writable) return void socket.destroy()
  const { status, headers, parts } = problemResponse(name === 'bad_request' ? malformed : { name })
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, `date: ${new Date().toUTCString()}`, 'connection: close']
  for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`)
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  socket.end(parts[0])
  // A client that goes on sending keeps half of the connection open otherwise.
  setTimeout(() => socket.destroy(), 1_000).unref()
}
