/**
 * The request target, read as it came: `new URL` would rewrite `//host`, `/../` and backslashes, and so change what was asked for.
 * Values are decoded one by one, on demand, so that an error names the parameter at fault.
 */
import { badRequest } from '../../src/index.ts'

export interface Target {
  /** Scheme and host of an absolute target, as proxies and fetch handlers send it. */
  readonly scheme: string | undefined
  readonly authority: string | undefined
  /** Still percent-encoded. */
  readonly path: string
  readonly query: string
}

const printable = /^[\x21-\x22\x24-\x7e]+$/
const absolute = /^(https?):\/\/([^/?]*)(.*)$/i

/** @throws BAD_REQUEST if the target is not a path */
export function parseTarget(target: string): Target {
  if (typeof target !== 'string' || !printable.test(target))
    throw badRequest('path', 'a request target of printable ASCII characters, the rest percent-encoded')
  if (target[0] === '/') return local(undefined, undefined, target)
  const [, scheme, authority, rest] = absolute.exec(target) ?? []
  if (rest === undefined) throw badRequest('path', 'a request target that begins with a slash')
  return local(scheme!.toLowerCase(), authority, rest[0] === '/' ? rest : `/${rest}`)
}

function local(scheme: string | undefined, authority: string | undefined, target: string): Target {
  const mark = target.indexOf('?')
  return mark < 0
    ? { scheme, authority, path: target, query: '' }
    : { scheme, authority, path: target.slice(0, mark), query: target.slice(mark + 1) }
}

/** @throws BAD_REQUEST naming `field` for a malformed percent escape, or one that is not UTF-8 */
export function decode(text: string, field: string): string {
  const decoded = unescaped(text)
  if (decoded === undefined) throw badRequest(field, 'percent escapes of UTF-8 text')
  return decoded
}

/** The text without escapes; undefined if they are malformed. */
function unescaped(text: string): string | undefined {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** What a template such as `?cursor=1&order=asc{?limit}` expands to: a second question mark before a page parameter. */
const secondMark = /\?(?=(?:cursor|limit|order)=)/g

/** Reads the value of a query parameter: '' if absent, the first of several. @throws BAD_REQUEST for malformed percent escapes */
export type QueryText = (name: string) => string

export function parseQuery(query: string): QueryText {
  const raw = new Map<string, string>()
  const text = query.includes('?') ? query.replace(secondMark, '&') : query
  for (let at = 0; at < text.length; ) {
    let end = text.indexOf('&', at)
    if (end < 0) end = text.length
    const equals = text.indexOf('=', at)
    const [nameEnd, valueStart] = equals < 0 || equals >= end ? [end, end] : [equals, equals + 1]
    // A name that cannot be decoded is not a parameter of ours.
    const name = unescaped(text.slice(at, nameEnd))
    if (name !== undefined && !raw.has(name)) raw.set(name, text.slice(valueStart, end))
    at = end + 1
  }
  return (name) => {
    const value = raw.get(name)
    return value === undefined ? '' : decode(value.includes('+') ? value.replaceAll('+', ' ') : value, name)
  }
}
