/** What never becomes a request, or must not become one: still answered with a problem, after earlier requests. */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { problemResponse } from '../message.ts'
import type { ProblemName } from '../problem.ts'
import type { Pipelines } from './pipeline.ts'

type ParserError = NodeJS.ErrnoException & { readonly rawPacket?: Buffer; readonly bytesParsed?: number }

const expectation = () => problemResponse({ name: 'expectation_failed' })

/** @param maxHeaderBytes the limit that an overflow exceeded */
export function refuse(server: Server, pipelines: Pipelines, maxHeaderBytes: number): void {
  server.on('clientError', (error: ParserError, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
    pipelines.refuse(socket, nameOf(error, socket, maxHeaderBytes))
  })
  server.on('checkExpectation', (request, response) => pipelines.take(request, response, expectation))
  server.on('connect', (_request, socket) => {
    // Node has let go of the socket: nobody handles its errors and timeouts any more, though answers to earlier requests may be unread.
    socket.on('error', () => socket.destroy())
    socket.on('timeout', () => socket.destroy())
    // What is sent into a tunnel that was not granted must not count as a sign of life.
    socket.on('readable', () => {
      if (socket.read() !== null && !socket.writableEnded) socket.destroy()
    })
    pipelines.refuse(socket, 'method_not_allowed')
  })
}

/** A method that the parser does not know; what is not HTTP at all has no such line. */
const REQUEST_LINE = /^[\w!#$%&'*+.^`|~-]+ \S+ HTTP\/1\.[01]\r?$/

/** The line around a place, without its end; empty if it does not end. */
function lineAt(bytes: Buffer, at: number): string {
  const end = bytes.indexOf(10, at)
  return end < 0 ? '' : bytes.toString('latin1', bytes.lastIndexOf(10, at) + 1, end)
}

function nameOf({ code, rawPacket, bytesParsed = 0 }: ParserError, socket: Socket, maxHeaderBytes: number): ProblemName {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_timeout'
  if (code === 'HPE_INVALID_METHOD' && rawPacket && REQUEST_LINE.test(lineAt(rawPacket, bytesParsed))) return 'method_not_allowed'
  if (code !== 'HPE_HEADER_OVERFLOW') return 'bad_request'
  // Only the first packet is known to begin with the request line.
  const lineEnd = rawPacket && socket.bytesRead === rawPacket.length ? rawPacket.indexOf(10) : 0
  return lineEnd < 0 || lineEnd > maxHeaderBytes / 2 ? 'uri_too_long' : 'header_fields_too_large'
}
