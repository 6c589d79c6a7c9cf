/**
 * Event streams on node:http: frames go to the socket as fast as it takes them, and no frame is asked for before the previous one was taken.
 * **Invariant:** what bypasses the response is framed as the response would have framed it; if something has wrapped the response, nothing bypasses
 * it.
 */
import { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import type { FrameReader, Frames } from '../event-stream.ts'
import type { Frame } from '../frames.ts'
import type { CoreResponse } from '../message.ts'
import { writeHead } from './head.ts'

/** Writes an event stream to its end. */
export function pump(response: ServerResponse, { status, headers }: CoreResponse, frames: Frames): void {
  if (response.destroyed) return void frames.end()
  // On a server that keeps half-open connections for answers, a client that closes its sending side has left its stream. In HTTP/2 every request
  // looks like that.
  if (response instanceof ServerResponse) {
    if (response.socket?.readableEnded) frames.end()
    else response.socket?.once('end', () => response.destroy())
    // The connection ends with the stream; a client that was not told so asks again over it.
    response.shouldKeepAlive = false
  }
  writeHead(response, status, headers)
  frames.pull(new Pump(response, frames))
}

/** What is written at a time: within a longer frame, a reader that takes it slowly could not be told from one that takes nothing. */
const PIECE = 65_536
const nothing = new Uint8Array(0)

class Pump implements FrameReader {
  private readonly response: ServerResponse
  private readonly frames: Frames
  /**
   * Where frames go once the head was written: the socket, since a write to the response costs twice as much.
   */
  private sink: Writable | undefined
  private chunked = false
  /** The frame being written, and how far it was. */
  private bytes: Uint8Array = nothing
  private at = 0

  constructor(response: ServerResponse, frames: Frames) {
    this.response = response
    this.frames = frames
    response.once('close', () => frames.end())
  }

  frame(frame: Frame): void {
    if (this.response.destroyed) return
    if (!this.sink) return void this.begin(frame)
    this.bytes = this.chunked ? frame.chunk : frame.bytes
    this.at = 0
    this.write(this.sink)
  }

  /** Writes the rest of a frame as far as the sink takes it, and asks for the next one once all was taken. */
  private write(sink: Writable): void {
    while (this.at < this.bytes.length) {
      const { at, bytes } = this
      this.at += PIECE
      if (!sink.write(bytes.length > PIECE ? bytes.subarray(at, this.at) : bytes)) return
    }
    this.bytes = nothing
    this.frames.pull(this)
  }

  /** The first frame. */
  private begin(frame: Frame): void {
    const { response } = this
    const socket = flushed(response)
    const sink = socket ?? response
    this.sink = sink
    this.chunked = socket !== undefined && response.chunkedEncoding
    sink.on('drain', () => {
      if (response.destroyed) return
      this.frames.took()
      this.write(sink)
    })
    this.frame(frame)
  }

  /**
   * Ends the connection too: a client that asked again over it would reach a server that is closing. A connection of HTTP/2 carries other answers, so
   * it stays.
   */
  end(cut: boolean): void {
    const { response } = this
    const { socket } = response
    if (response.destroyed) return
    if (cut) response.destroy()
    else response.end(response instanceof ServerResponse ? () => endSoon(socket) : undefined)
  }
}

/** As Node does after the last answer of a connection; what stands in for one, in a test of a server without a network, may know neither. */
function endSoon(socket: Partial<Socket> | null): void {
  if (socket?.destroySoon) socket.destroySoon()
  else socket?.end?.()
}

/**
 * The socket, if the head went to it, so that what is written to it comes behind. Express middleware wraps `write`, HTTP/2 has its own, and Bun writes
 * a head elsewhere. The head has to be flushed: what is written to a response, Node 26 keeps until the end of the turn, and it would be overtaken.
 */
function flushed(response: ServerResponse): Socket | undefined {
  const { socket } = response
  if (!socket || response.write !== ServerResponse.prototype.write) return undefined
  // The head is sent together with what follows in this turn; until then the socket holds it.
  socket.cork()
  process.nextTick(() => socket.uncork())
  const before = socket.writableLength
  response.flushHeaders()
  return socket.writableLength > before ? socket : undefined
}
