/**
 * Plain requests: a GET of HTTP/1.1 without a body, alone in what arrived, whose head is all there and can be read in one way only. What they ask
 * for is read here, since Node's parser and its two objects per request cost more than finding ten records. Whatever is not plain is left to Node.
 * **Invariant:** a plain request is to the core what Node's parser would have made of the same bytes (RFC 9112, 3 and 5, without anything that a
 * server may read leniently or reject).
 */
import type { CoreRequest } from '../message.ts'
import { negotiate } from '../negotiate.ts'

/** Few clients send more, and a connection remembers as much. No limit of a head is lower. */
export const PLAIN_BYTES = 2048

const VERSION = ' HTTP/1.1\r\n'
const FIELD = /^([\w!#$%&'*+.^`|~-]+):([\t -~]*)$/
/** Fields that change how a message or its connection is read, or that need an answer of their own. */
const SPECIAL = /^(?:connection|content-length|expect|proxy-connection|te|trailer|transfer-encoding|upgrade)$/

/** The fields of a head by their names in lower case; undefined if they are not plain. */
function fieldsOf(text: string): Map<string, string> | undefined {
  const fields = new Map<string, string>()
  const lines = text.split('\r\n')
  // An empty line ends the head, and nothing follows.
  if (lines.pop() !== '' || lines.pop() !== '') return undefined
  for (const line of lines) {
    const [, name, value] = FIELD.exec(line) ?? []
    if (name === undefined) return undefined
    const known = name.toLowerCase()
    const trimmed = value!.trim()
    if (fields.has(known) || (SPECIAL.test(known) && !(known === 'connection' && /^keep-alive$/i.test(trimmed)))) return undefined
    fields.set(known, trimmed)
  }
  return fields
}

/** What follows the request line. */
export class Head {
  readonly text: string
  readonly fields: ReadonlyMap<string, string>

  private constructor(text: string, fields: ReadonlyMap<string, string>) {
    this.text = text
    this.fields = fields
  }

  /** Undefined if it is not plain, or if an event stream may be asked for, which has no end. */
  static read(text: string): Head | undefined {
    const fields = fieldsOf(text)
    return fields && negotiate(fields.get('accept'), true) !== 'stream' ? new Head(text, fields) : undefined
  }
}

/** A plain request, as the core sees it. */
export class PlainRequest implements CoreRequest {
  readonly method = 'GET'
  readonly scheme = 'http'
  readonly mount = undefined
  readonly needsHost = true
  readonly target: string
  readonly head: Head

  private constructor(target: string, head: Head) {
    this.target = target
    this.head = head
  }

  /**
   * Undefined if what arrived is not exactly one plain request.
   * @param text at most {@link PLAIN_BYTES} bytes, a character each
   * @param last the head of the request before it on its connection: a client mostly sends the same one again
   */
  static read(text: string, last: Head | undefined): PlainRequest | undefined {
    if (!text.startsWith('GET /')) return undefined
    const end = text.indexOf(VERSION)
    const target = text.slice(4, end)
    if (end < 0 || !/^[!-~]+$/.test(target)) return undefined
    const rest = text.slice(end + VERSION.length)
    const head = last?.text === rest ? last : Head.read(rest)
    return head && new PlainRequest(target, head)
  }

  header(name: string): string | undefined {
    return this.head.fields.get(name)
  }
}
