/**
 * Connections on which one plain request comes at a time (`plain.ts`): they are answered straight from their socket. At the first sign of anything
 * else, a connection is left to Node with all that is unread, and stays there.
 * **Invariants:** one answer is in progress on a connection, and what arrives meanwhile is read by Node behind it (`pipeline.ts`); every wait ends.
 */
import { channel } from 'node:diagnostics_channel'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { isPromise } from '../../../src/index.ts'
import type { Core } from '../handler.ts'
import type { CoreResponse } from '../message.ts'
import type { Pipelines } from './pipeline.ts'
import { type Head, PLAIN_BYTES, PlainRequest } from './plain.ts'
import { type BatchedResponse, ResponseBatch } from './response-batch.ts'
import type { PendingResponse } from './stall.ts'
import { inPieces } from './wire.ts'

type Waits = Readonly<Record<'headersMs' | 'keepAliveMs' | 'stallMs', number>>

/** A client that sends a request just before the end of the wait it was told does not meet a closed connection; Node adds as much. */
const GRACE_MS = 1_000

/** Whoever subscribes to this wants to see every request as Node's own. */
const watched = channel('http.server.request.start')

export class FastPath {
  readonly server: Server
  readonly core: Core
  readonly pipelines: Pipelines
  readonly waits: Waits
  readonly batch = new ResponseBatch()
  private readonly connections = new WeakMap<Socket, Connection>()
  private readonly nodes: (this: Server, socket: Socket) => void

  /** Takes the connections of a server before Node's parser does. */
  constructor(server: Server, core: Core, pipelines: Pipelines, waits: Waits) {
    this.server = server
    this.core = core
    this.pipelines = pipelines
    this.waits = waits
    const [nodes] = server.listeners('connection')
    this.nodes = nodes as typeof this.nodes
    server.removeListener('connection', this.nodes)
    server.on('connection', (socket: Socket) => this.connections.set(socket, new Connection(this, socket)))
  }

  /** Leaves a connection to Node. */
  leave(socket: Socket): void {
    this.connections.delete(socket)
    this.nodes.call(this.server, socket)
  }

  /** From now on the last answer of each connection says that it is the last. */
  close(): void {
    this.pipelines.close()
  }

  /** Nothing is in progress on a connection: no answer, no end, and no partly read request. */
  isIdle(socket: Socket): boolean {
    return this.connections.get(socket)?.isIdle ?? this.pipelines.isIdle(socket)
  }
}

class Connection implements BatchedResponse, PendingResponse {
  readonly socket: Socket
  private readonly fastPath: FastPath
  /** Waits for a request, for its answer, for the client to take that. */
  private state: 'open' | 'asked' | 'answered' = 'open'
  /** Bytes of the requests so far. */
  private read = 0
  /** The head of the last request. */
  private head: Head | undefined
  /** To be answered at the end of this turn of the event loop. */
  private request: PlainRequest | undefined
  private answer: CoreResponse | undefined
  /** The client sends nothing more, or was told that this answer is the last. */
  private last = false
  /** Present if the connection was left to Node with an answer on its way: to be called once that was taken. */
  private over: (() => void) | undefined

  constructor(fastPath: FastPath, socket: Socket) {
    this.fastPath = fastPath
    this.socket = socket
    socket.setTimeout(fastPath.waits.headersMs)
    socket.on('data', this.take).on('end', this.end).on('timeout', this.late).on('error', this.fail)
  }

  get isIdle(): boolean {
    const { socket } = this
    return this.state === 'open' && !socket.writableEnded && socket.bytesRead === this.read
  }

  get writableFinished(): boolean {
    return this.state === 'open'
  }

  private readonly take = (chunk: Buffer): void => {
    if (this.state === 'open') {
      const request = this.plain(chunk)
      if (request) this.ask(request)
      else this.leave(chunk)
    } else if (this.state === 'asked') {
      // It stays in the stream until the answer is sent, so that the stream does not end before it was read.
      this.socket.pause().unshift(chunk)
    } else if (!this.last) this.leave(chunk)
  }

  private plain(chunk: Buffer): PlainRequest | undefined {
    if (watched.hasSubscribers || chunk.length > PLAIN_BYTES) return undefined
    const request = PlainRequest.read(chunk.toString('latin1'), this.head)
    if (request) this.read += chunk.length
    return request
  }

  private ask(request: PlainRequest): void {
    this.head = request.head
    this.request = request
    this.state = 'asked'
    this.fastPath.batch.put(this)
  }

  make(): void {
    const { socket, fastPath, request } = this
    this.request = undefined
    if (request === undefined || socket.destroyed) return
    const answer = fastPath.core(request)
    if (isPromise(answer)) {
      // As long as Node would wait.
      socket.setTimeout(fastPath.server.timeout)
      void answer.then((found) => {
        this.answer = found
        fastPath.batch.put(this)
      })
    } else this.answer = answer
  }

  send(): void {
    const { socket, fastPath, answer } = this
    if (answer === undefined || socket.destroyed) return
    this.state = 'answered'
    const unread = socket.readableLength > 0
    const closes = fastPath.pipelines.closing && !unread
    if (closes) this.last = true
    const pieces = inPieces(answer, closes ? 0 : fastPath.waits.keepAliveMs)
    const final = pieces.length - 1
    if (final > 0) socket.cork()
    for (let i = 0; i <= final; i++) socket.write(pieces[i]!, i < final ? undefined : this.taken)
    if (final > 0) socket.uncork()
    if (unread) this.leave()
    else if (socket.writableLength > 0) socket.setTimeout(fastPath.waits.stallMs)
  }

  private readonly taken = (error?: Error | null): void => {
    const { socket } = this
    if (this.over) {
      this.over()
      return
    }
    // A destroyed socket may have taken a part of an answer: its memory is left to the garbage collector.
    if (error || socket.destroyed) return
    this.answer!.release?.()
    this.answer = undefined
    this.state = 'open'
    const wait = this.fastPath.waits.keepAliveMs + GRACE_MS
    if (this.last) socket.destroySoon()
    else if (socket.timeout !== wait) socket.setTimeout(wait)
  }

  /**
   * Leaves the connection to Node, as if nothing had been read of what is left.
   * @param chunk what was taken out of the stream, but is left
   */
  private leave(chunk?: Buffer): void {
    const { socket, fastPath } = this
    socket.setTimeout(0)
    socket.off('data', this.take).off('end', this.end).off('timeout', this.late).off('error', this.fail)
    if (this.state === 'answered') this.over = fastPath.pipelines.behind(socket, this, this.answer!.release)
    socket.pause()
    if (chunk) socket.unshift(chunk)
    fastPath.leave(socket)
    socket.resume()
  }

  /** A client that closes its sending side may still wait for its answer. */
  private readonly end = (): void => {
    this.last = true
    if (this.state === 'open') this.socket.destroySoon()
  }

  private readonly late = (): void => {
    const { socket } = this
    if (this.head) return void socket.destroy()
    // It never asked for anything, and what it sends from now on is not read.
    socket.setTimeout(0)
    socket.off('data', this.take).resume()
    this.fastPath.pipelines.refuse(socket, 'request_timeout')
  }

  private readonly fail = (): void => void this.socket.destroy()
}
