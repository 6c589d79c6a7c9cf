/**
 * Answers that are not taken at once. One that is still in progress after a while is watched: its connection is not read until the answer was taken,
 * so that only taking it counts as a sign of life, and a client that takes nothing for `stallMs` is cut off, however much it sends. Node checks once
 * in that time, so it may be twice as long.
 */
import type { ServerResponse } from 'node:http'

/** The fraction of `stallMs` after which a check looks whether an answer is still in progress; most never are. */
const LOOKS = 10

export class Stalls {
  private readonly stallMs: number
  /** Answers in progress, and those that already were at the last look. */
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
    // After the last answer to what was read, Node has already set the timeout of an idle connection.
    if (socket.timeout === stallMs) socket.setTimeout(timeout)
    socket.resume()
  })
}
