/**
 * Answers that are not taken at once. One that is still in progress after a while is watched: its connection is not read until the answer was taken,
 * so that only taking it counts as a sign of life, and a client that takes nothing for `stallMs` is cut off, however much it sends. Node checks once
 * in that time, so it may be twice as long.
 */
import type { Socket } from 'node:net'

/** An answer on its way: a response of Node, or one that was begun past it. */
export interface PendingResponse {
  readonly socket: Socket | null
  readonly writableFinished: boolean
}

/** The fraction of `stallMs` after which a check looks whether an answer is still in progress; most never are. */
const LOOKS = 10

export class Stalls {
  private readonly stallMs: number
  /** Answers in progress, and those that already were at the last look. */
  private young = new Set<PendingResponse>()
  private old = new Set<PendingResponse>()
  /** The connections of those that are watched, and their timeouts before. */
  private readonly watched = new Map<PendingResponse, { readonly socket: Socket; readonly timeout: number }>()
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(stallMs: number) {
    this.stallMs = stallMs
  }

  /** An answer was ended, and is on its way. */
  sent(answer: PendingResponse): void {
    if (answer.writableFinished) return
    this.young.add(answer)
    this.timer ??= setTimeout(this.look, this.stallMs / LOOKS).unref()
  }

  /** An answer was taken, or its connection is gone. */
  over(answer: PendingResponse): void {
    if (this.timer && !this.young.delete(answer)) this.old.delete(answer)
    const watched = this.watched.get(answer)
    if (!watched) return
    this.watched.delete(answer)
    const { socket, timeout } = watched
    if (socket.destroyed) return
    // After the last answer to what was read, Node has already set the timeout of an idle connection.
    if (socket.timeout === this.stallMs) socket.setTimeout(timeout)
    socket.resume()
  }

  private readonly look = (): void => {
    for (const answer of this.old) this.watch(answer)
    this.old = this.young
    this.young = new Set()
    this.timer = this.old.size > 0 ? setTimeout(this.look, this.stallMs / LOOKS).unref() : undefined
  }

  private watch(answer: PendingResponse): void {
    const { socket } = answer
    if (!socket) return
    this.watched.set(answer, { socket, timeout: socket.timeout ?? 0 })
    socket.pause()
    socket.setTimeout(this.stallMs)
  }
}
