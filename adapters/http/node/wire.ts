/** The head of a response as bytes go over the wire, where it is not written by Node. */
import { STATUS_CODES } from 'node:http'
import type { CoreResponse } from '../message.ts'

let date = ''
let dateEnds = 0

/** The Date of a response (RFC 9110, 6.6.1), to the second. */
function dateNow(): string {
  const now = Date.now()
  if (now >= dateEnds || now < dateEnds - 1000) {
    date = new Date(now).toUTCString()
    dateEnds = now - (now % 1000) + 1000
  }
  return date
}

/**
 * The head of a response, as Node writes it.
 * @param keepAliveMs how long the connection is kept; 0 if this is its last response
 */
export function responseHead({ status, headers }: CoreResponse, keepAliveMs: number): string {
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`
  for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`
  text += `Date: ${dateNow()}\r\n`
  if (keepAliveMs === 0) return `${text}connection: close\r\n\r\n`
  return `${text}Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1000)}\r\n\r\n`
}

/** A response in pieces, its head in front of the first part where there is room for it: a piece more costs half a µs. */
export function inPieces(response: CoreResponse, keepAliveMs: number): readonly Uint8Array[] {
  const { parts, room = 0 } = response
  const head = responseHead(response, keepAliveMs)
  const first = parts[0]
  if (first === undefined || head.length > room) return [Buffer.from(head, 'latin1'), ...parts]
  const led = Buffer.from(first.buffer, first.byteOffset - head.length, head.length + first.length)
  led.write(head, 'latin1')
  return parts.length === 1 ? [led] : [led, ...parts.slice(1)]
}
