/** Reads what a server sent over a connection as answers, and judges each. */

export interface Answer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

export interface Read {
  readonly answers: readonly Answer[]
  /** Bytes at the end that are not a whole answer. */
  readonly rest: Buffer
  readonly fault?: string
}

const MAX_HEAD = 16_384

/** @param methods of the requests in turn, where they are known: what answers a HEAD has no body */
export function readAnswers(bytes: Buffer, methods: readonly string[]): Read {
  const answers: Answer[] = []
  for (let at = 0; at < bytes.length; ) {
    const headEnd = bytes.indexOf('\r\n\r\n', at)
    if (headEnd < 0) return { answers, rest: bytes.subarray(at) }
    const [first = '', ...lines] = bytes.toString('latin1', at, headEnd).split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3})(?: |$)/.exec(first)?.[1])
    if (!status || headEnd - at > MAX_HEAD)
      return { answers, rest: bytes.subarray(at), fault: `not an answer: ${JSON.stringify(first.slice(0, 200))}` }
    const headers = new Map<string, string>()
    for (const line of lines) {
      const [, name, value] = /^([\w-]+): (.*)$/.exec(line) ?? []
      if (name === undefined) return { answers, rest: bytes.subarray(at), fault: `not a header: ${JSON.stringify(line)}` }
      headers.set(name.toLowerCase(), value!)
    }
    const start = headEnd + 4
    if (status < 200) {
      at = start
      continue
    }
    const method = methods.length > 0 ? methods[answers.length] : undefined
    const length = bodyLength(bytes, start, status, headers, method)
    if (length === undefined) return { answers, rest: bytes.subarray(at) }
    answers.push({ status, headers, body: bytes.subarray(start, start + length) })
    at = start + length
  }
  return { answers, rest: Buffer.alloc(0) }
}

/** Undefined if the body has not arrived whole. */
function bodyLength(
  bytes: Buffer,
  start: number,
  status: number,
  headers: ReadonlyMap<string, string>,
  method: string | undefined,
): number | undefined {
  if (status === 204 || status === 304 || method === 'HEAD') return 0
  const length = headers.get('content-length')
  if (length === undefined) return bytes.length - start
  // For a mutated request it is not known whether it was a HEAD.
  const followed = bytes.length === start || bytes.subarray(start, start + 9).toString('latin1') === 'HTTP/1.1 '
  if (method === undefined && followed) return 0
  return start + Number(length) <= bytes.length ? Number(length) : undefined
}

/** What no answer may hold: the inside of the machine. */
const INSIDE = /node_modules|\.[cm]?[jt]s:\d|\bat \S+ \(|\n +at |FolioError|TypeError|RangeError|\/(?:home|tmp|root|opt|var|usr)\//

/** What is wrong with an answer. */
export function judge({ status, headers, body }: Answer, method: string | undefined): string | undefined {
  if (status >= 500) return `answered ${status}: ${body.toString('utf8', 0, 300)}`
  if (headers.has('x-injected')) return 'a header was injected'
  if (headers.get('access-control-allow-origin') !== '*') return `${status} without access-control-allow-origin`
  if (status < 400) return status === 200 && body.length > 0 && body.length < 3000 ? notJson(headers, body) : undefined
  if (!headers.get('content-type')?.startsWith('application/problem+json')) return `${status} is no problem: ${headers.get('content-type')}`
  if (method === 'HEAD' || (method === undefined && body.length === 0)) return undefined
  const text = body.toString('utf8')
  if (INSIDE.test(text) || text.includes(process.cwd())) return `shows the inside: ${text.slice(0, 300)}`
  try {
    const problem = JSON.parse(text)
    if (problem.status === status && /^\/problems\/\w+$/.test(problem.type) && typeof problem.detail === 'string') return undefined
  } catch {
    // Reported below.
  }
  return `${status} with a body that is no problem: ${text.slice(0, 300)}`
}

function notJson(headers: ReadonlyMap<string, string>, body: Buffer): string | undefined {
  if (!headers.get('content-type')?.includes('json')) return undefined
  try {
    JSON.parse(body.toString('utf8'))
    return undefined
  } catch {
    return `200 with a body that is no JSON: ${body.toString('utf8', 0, 300)}`
  }
}
