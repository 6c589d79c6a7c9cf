/**
 * The connections of a server, and how they end when it closes: those that are idle and stay so, at the first look; those with an answer under
 * way, or a part of a request, after that; whatever is left then, at `drainMs`.
 * **Invariant:** no answer is cut before `drainMs`, and no connection outlives it. Node's own list keeps neither: it takes an answer for sent
 * when it was handed over, and forgets who asked for a tunnel.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Turns } from './turns.ts'

/** How often a server that closes looks for connections that have become idle. */
const LOOK_MS = 50

export class Sockets {
  private readonly open = new Set<Socket>()
  private readonly server: Server
  private readonly turns: Turns

  constructor(server: Server, turns: Turns) {
    this.server = server
    this.turns = turns
    server.on('connection', (socket: Socket) => {
      this.open.add(socket)
      socket.once('close', () => this.open.delete(socket))
    })
    // Node calls this itself when it closes, and would end what is idle before it has read what had arrived by then.
    server.closeIdleConnections = () => {}
  }

  /** Takes no more connections, and ends those that there are. */
  close(drainMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.turns.close()
      // What was idle at the look before as well: a request may wait unread behind an answer that has only just gone out, and who closes a socket
      // with bytes unread takes back what the client has not received.
      let before: ReadonlySet<Socket> = new Set(this.idle())
      const look = (): void => {
        const idle = this.idle()
        this.end(idle.filter((socket) => before.has(socket)))
        before = new Set(idle)
      }
      // A busy process may be late for a look, with more to read than it has read since the one before: what has arrived is read first.
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
    return [...this.open].filter((socket) => this.turns.isIdle(socket))
  }

  private end(sockets: Iterable<Socket>): void {
    for (const socket of sockets) socket.destroy()
  }
}
