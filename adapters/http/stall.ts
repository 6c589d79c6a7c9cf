/**
 * Answers that are not taken at once. While one is under way nothing is read of its connection, so that only what its reader takes counts as a sign
 * of life: whoever takes nothing of it for `stallMs` is cut off, however much he sends. Node looks once in that time, so it may be twice as long.
 */
import type { ServerResponse } from 'node:http'

/** Cuts the connection of an answer that was ended, where its reader stalls. */
export function cutWhereStalled(response: ServerResponse, stallMs: number): void {
  const { socket } = response
  if (response.writableFinished || !socket) return
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
