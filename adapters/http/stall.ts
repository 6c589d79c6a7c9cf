/**
 * Answers that are not taken at once. One that is still under way after a while is watched: nothing is read of its connection until it was taken,
 * so that only what its reader takes counts as a sign of life, and who takes nothing of it for `stallMs` is cut off, however much he sends. Node
 * looks once in that time, so it may be twice as long.
 */
import type { ServerResponse } from 'node:http'

/** The part of `stallMs` after which it is looked whether an answer is still under way; most never are. */
const LOOKS = 10

export class Stalls {
  private readonly stallMs: number
  /** Answers under way, and those that were so at the last look. */
  private young = new Set<ServerResponse>()
  private old = new Set<ServerResponse>()
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(stallMs: number) {
    this.stallMs = stallMs
  }

  /** An answer was ended, and is on its way. */
  sent(response: ServerResponse): void {
    if (response.writableFinished) return
    this.young.add(response)
    this.timer ??= setTimeout(this.look, this.stallMs / LOOKS).unref()
  }

  /** An answer was taken, or its connection is gone. */
  over(response: ServerResponse): void {
    if (this.timer && !this.young.delete(response)) this.old.delete(response)
  }

  private readonly look = (): void => {
    for (const response of this.old) watch(response, this.stallMs)
    this.old = this.young
    this.young = new Set()
    this.timer = this.old.size > 0 ? setTimeout(this.look, this.stallMs / LOOKS).unref() : undefined
  }
}

function watch(response: ServerResponse, stallMs: number): void {
  const { socket } = response
  if (!socket) return
  const { timeout = 0 } = socket
  socket.pause()
  socket.setTimeout(stallMs)
  response.once('close', () => {
    if (socket.destroyed) return
    // Behind the last answer to what was read, Node has set the time that an idle connection is kept for.
    if (socket.timeout === stallMs) socket.setTimeout(timeout)
    socket.resume()
  })
}
