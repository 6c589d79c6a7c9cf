/**
 * The connections of a server, and how they end when it closes: those that are idle and stay so, at the first look; those with an answer in progress,
 * or a part of a request, after that; whatever is left, at `drainMs`.
 * **Invariant:** no answer is cut off before `drainMs`, and no connection outlives it. Node's own bookkeeping ensures neither: it considers an answer
 * sent once it was handed over, and forgets connections that asked for a tunnel.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastPath } from './fast-path.ts'

/** Held from the start: clocks that a test replaces later must not keep a server from closing. */
const { setImmediate, setInterval, clearInterval, setTimeout, clearTimeout } = globalThis

/** How often a closing server looks for connections that have become idle. */
const LOOK_MS = 50

export class Sockets {
  private readonly open = new Set<Socket>()
  private readonly server: Server
  private readonly fastPath: FastPath

  constructor(server: Server, fastPath: FastPath) {
    this.server = server
    this.fastPath = fastPath
    server.on('connection', (socket: Socket) => {
      this.open.add(socket)
      socket.once('close', () => this.open.delete(socket))
    })
    // Node calls this itself when it closes, and would end idle connections before reading what had arrived by then.
    server.closeIdleConnections = () => {}
  }

  /** Accepts no more connections, and ends the existing ones. */
  close(drainMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.fastPath.close()
      // Only what was already idle at the previous look: a request may wait unread behind an answer that has only just gone out, and closing a socket
      // with unread bytes discards what the client has not received yet.
      let before: ReadonlySet<Socket> = new Set(this.idle())
      const look = (): void => {
        const idle = this.idle()
        this.end(idle.filter((socket) => before.has(socket)))
        before = new Set(idle)
      }
      // A busy process may be late for a look, with more to read than it has read since the previous one: what has arrived is read first.
      const looks = setInterval(() => setImmediate(look), LOOK_MS)
      const cut = setTimeout(() => this.end(this.open), drainMs)
      this.server.close(() => {
        clearInterval(looks)
        clearTimeout(cut)
        resolve()
      })
    })
  }

  private idle(): Socket[] {
    return [...this.open].filter((socket) => this.fastPath.isIdle(socket))
  }

  private end(sockets: Iterable<Socket>): void {
    for (const socket of sockets) socket.destroy()
  }
}
