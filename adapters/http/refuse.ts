/** What never becomes a request, or must not become one: still answered with a problem, in its turn. */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { problemResponse } from './message.ts'
import type { ProblemName } from './problem.ts'
import type { Turns } from './turns.ts'

type ParserError = NodeJS.ErrnoException & { readonly rawPacket?: Buffer }

const expectation = () => problemResponse({ name: 'expectation_failed' })

/** @param maxHeaderBytes the limit that an overflow exceeded */
export function refuse(server: Server, turns: Turns, maxHeaderBytes: number): void {
  server.on('clientError', (error: ParserError, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
    turns.refuse(socket, nameOf(error, socket, maxHeaderBytes))
  })
  server.on('checkExpectation', (request, response) => turns.take(request, response, expectation))
  server.on('connect', (_request, socket) => {
    // Node has let go of the socket: nobody handles its errors and timeouts any more, though answers to earlier requests may be unread.
    socket.on('error', () => socket.destroy())
    socket.on('timeout', () => socket.destroy())
    // What is sent into a tunnel that was not granted must not count as a sign of life.
    socket.on('readable', () => {
      if (socket.read() !== null && !socket.writableEnded) socket.destroy()
    })
    turns.refuse(socket, 'method_not_allowed')
  })
}

function nameOf({ code, rawPacket }: ParserError, socket: Socket, maxHeaderBytes: number): ProblemName {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_timeout'
  if (code !== 'HPE_HEADER_OVERFLOW') return 'bad_request'
  // Only the first packet is known to begin with the request line.
  const lineEnd = rawPacket && socket.bytesRead === rawPacket.length ? rawPacket.indexOf(10) : 0
  return lineEnd < 0 || lineEnd > maxHeaderBytes / 2 ? 'uri_too_long' : 'header_fields_too_large'
}
