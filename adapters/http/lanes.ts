/**
 * Connections on which one plain request comes at a time (`plain.ts`): they are answered straight from their socket. At the first sign of anything
 * else, a connection is left to Node with all that is unread, and stays there.
 * **Invariants:** one answer is in progress on a connection; what arrives meanwhile waits, unread after the first piece; every wait ends.
 */
import { channel } from 'node:diagnostics_channel'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { isPromise } from '../../src/index.ts'
import type { Core } from './handler.ts'
import type { CoreResponse } from './message.ts'
import { Outbox, type Ready } from './outbox.ts'
import { type Head, PLAIN_BYTES, PlainRequest, responseHead } from './plain.ts'
import type { Turns } from './turns.ts'

type Waits = Readonly<Record<'headersMs' | 'keepAliveMs' | 'stallMs', number>>

/** A client that sends a request just before the end of the wait it was told does not meet a closed connection; Node adds as much. */
const GRACE_MS = 1_000

/** Whoever subscribes to this wants to see every request as Node's own. */
const watched = channel('http.server.request.start')

export class Lanes {
  readonly core: Core
  readonly turns: Turns
  readonly waits: Waits
  readonly outbox = new Outbox()
  closing = false
  private readonly lanes = new Map<Socket, Lane>()
  private readonly server: Server
  private readonly nodes: (this: Server, socket: Socket) => void

  /** Takes the connections of a server before Node's parser does. */
  constructor(server: Server, core: Core, turns: Turns, waits: Waits) {
    this.core = core
    this.turns = turns
    this.waits = waits
    this.server = server
    const [nodes] = server.listeners('connection')
    this.nodes = nodes as typeof this.nodes
    server.removeListener('connection', this.nodes)
    server.on('connection', (socket: Socket) => {
      this.lanes.set(socket, new Lane(this, socket))
      socket.once('close', () => this.lanes.delete(socket))
    })
  }

  /** Leaves a connection to Node. */
  leave(socket: Socket): void {
    this.lanes.delete(socket)
    this.nodes.call(this.server, socket)
  }

  /** From now on the last answer of each connection says that it is the last. */
  close(): void {
    this.closing = true
    this.turns.close()
  }

  /** Nothing is in progress on a connection: no answer, no end, and no partly read request. */
  isIdle(socket: Socket): boolean {
    return this.lanes.get(socket)?.isIdle ?? this.turns.isIdle(socket)
  }
}

class Lane implements Ready {
  private readonly lanes: Lanes
  private readonly socket: Socket
  private busy = false
  /** Bytes of the requests so far. */
  private read = 0
  private head: Head | undefined
  private answer: CoreResponse | undefined
  /** What arrived behind the request in progress. */
  private behind: Buffer | undefined
  /** The client sends nothing more, or was told that this answer is the last. */
  private last = false

  constructor(lanes: Lanes, socket: Socket) {
    this.lanes = lanes
    this.socket = socket
    socket.setTimeout(lanes.waits.headersMs)
    socket.on('data', this.take).on('end', this.end).on('timeout', this.late).on('error', this.fail)
  }

  get isIdle(): boolean {
    const { socket } = this
    return !this.busy && !socket.writableEnded && socket.bytesRead === this.read
  }

  private readonly take = (chunk: Buffer): void => {
    if (this.busy) {
      this.behind = this.behind ? Buffer.concat([this.behind, chunk]) : chunk
      this.socket.pause()
      return
    }
    const { lanes } = this
    const request =
      lanes.closing || watched.hasSubscribers || chunk.length > PLAIN_BYTES
        ? undefined
        : PlainRequest.read(chunk.toString('latin1'), this.head)
    if (!request) {
      this.leave(chunk)
      return
    }
    this.head = request.head
    this.read += chunk.length
    this.busy = true
    const answer = lanes.core(request)
    if (!isPromise(answer)) {
      this.ready(answer)
      return
    }
    this.socket.setTimeout(lanes.waits.stallMs)
    void answer.then((found) => this.ready(found))
  }

  private ready(answer: CoreResponse): void {
    this.answer = answer
    this.lanes.outbox.put(this)
  }

  send(): void {
    const { socket, lanes } = this
    if (socket.destroyed) return
    const { parts } = this.answer!
    const closes = lanes.closing && this.behind === undefined
    this.last ||= closes
    const head = responseHead(this.answer!, closes ? 0 : lanes.waits.keepAliveMs)
    socket.cork()
    const final = parts.length - 1
    socket.write(head, 'latin1', final < 0 ? this.sent : undefined)
    for (let i = 0; i <= final; i++) socket.write(parts[i]!, i < final ? undefined : this.sent)
    socket.uncork()
    if (socket.writableLength > 0) socket.setTimeout(lanes.waits.stallMs)
  }

  private readonly sent = (error?: Error | null): void => {
    const { socket, behind } = this
    // A destroyed socket may have taken a part of an answer: its memory is left to the garbage collector.
    if (error || socket.destroyed) return
    this.answer!.release?.()
    this.answer = undefined
    this.busy = false
    const wait = this.lanes.waits.keepAliveMs + GRACE_MS
    if (behind) this.leave(behind)
    else if (this.last) socket.destroySoon()
    else if (socket.timeout !== wait) socket.setTimeout(wait)
  }

  /** Leaves the connection to Node, as if nothing had been read of what is left. */
  private leave(unread: Buffer): void {
    const { socket } = this
    this.drop()
    socket.pause()
    socket.unshift(unread)
    this.lanes.leave(socket)
    socket.resume()
  }

  private drop(): void {
    const { socket } = this
    socket.setTimeout(0)
    socket.off('data', this.take).off('end', this.end).off('timeout', this.late).off('error', this.fail)
  }

  /** A client that closes its sending side may still wait for its answer. */
  private readonly end = (): void => {
    this.last = true
    if (!this.busy) this.socket.destroySoon()
  }

  private readonly late = (): void => {
    const { socket } = this
    if (this.busy || this.head) return void socket.destroy()
    // It never asked for anything.
    this.drop()
    this.lanes.turns.refuse(socket, 'request_timeout')
  }

  private readonly fail = (): void => void this.socket.destroy()
}
