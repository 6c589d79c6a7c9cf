/**
 * Event streams on node:http: frames go to the socket as fast as it takes them, and no frame is asked for before the one before it was taken.
 * **Invariant:** what goes past the response is framed as the response would have framed it; where somebody has put a wrapper around the response,
 * nothing goes past it.
 */
import { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Frame } from './frames.ts'
import type { CoreResponse } from './message.ts'
import type { FrameReader, Frames } from './stream.ts'

/** Writes an event stream to its end. */
export function pump(response: ServerResponse, { status, headers }: CoreResponse, frames: Frames): void {
  if (response.destroyed) return void frames.end()
  // Where half a connection is kept for answers, a client that sends no more has left its stream. In HTTP/2 that is how every request looks.
  if (response instanceof ServerResponse) {
    if (response.socket?.readableEnded) frames.end()
    else response.socket?.once('end', () => response.destroy())
  }
  response.writeHead(status, headers)
  frames.pull(new Pump(response, frames))
}

class Pump implements FrameReader {
  private readonly response: ServerResponse
  private readonly frames: Frames
  /** Where frames go, once the first one has gone by the response with its head: a write to the response costs twice as much. */
  private socket: Socket | undefined
  private readonly chunked: boolean

  constructor(response: ServerResponse, frames: Frames) {
    this.response = response
    this.frames = frames
    this.chunked = response.chunkedEncoding
    response.once('close', () => frames.end())
  }

  frame(frame: Frame): void {
    const { socket, response } = this
    if (response.destroyed) return
    const taken = socket ? socket.write(this.chunked ? frame.chunk : frame.bytes) : this.begin(frame)
    if (taken) this.more()
  }

  private readonly more = (): void => this.frames.pull(this)

  /** The first frame. */
  private begin({ bytes }: Frame): boolean {
    const { response } = this
    const taken = response.write(bytes)
    const { socket } = response
    // Express middleware wraps `write`, HTTP/2 has another one.
    if (socket && response.write === ServerResponse.prototype.write) {
      this.socket = socket
      socket.on('drain', this.more)
    } else response.on('drain', this.more)
    return taken
  }

  /** With its connection: a client that asks again over it would reach a server that is closing. */
  end(cut: boolean): void {
    const { response } = this
    const { socket } = response
    if (response.destroyed) return
    if (cut) response.destroy()
    else response.end(() => socket?.destroySoon())
  }
}
