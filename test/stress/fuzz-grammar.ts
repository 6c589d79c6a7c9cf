/** Requests to fuzz a server with: by the grammar of HTTP with anything for values, and mutations of their bytes. */
import { catalogue } from '../../src/index.ts'
import { random } from './stress.ts'

type Chance = ReturnType<typeof random>

/** What is sent over one connection. */
export interface Volley {
  readonly kind: 'well-formed' | 'mutated' | 'garbage' | 'reset' | 'slow' | 'stream' | 'unread'
  readonly bytes: Buffer
  /** The methods of its requests in turn: that many answers come back, if it is well-formed. */
  readonly methods: readonly string[]
}

/** Ids that exist, to get past the first checks. */
export interface Known {
  readonly account: string
  readonly hash: string
  readonly ledger: string
  readonly operation: string
  readonly offer: string
}

const integers =
  '0|1|-1|+5|007|0x10|1e3|1.0|1_0| 5|5 |NaN|Infinity|9007199254740993|9223372036854775807|9223372036854775808|18446744073709551616|٣|５|%30|%20'.split(
    '|',
  )
const texts =
  '%|%zz|%2|%00|%ff|%c3%28|%F0%9F%92%A9|%2e%2e|%2F|..|.|~|\'|"|<script>|{{7*7}}|%0d%0aX-Injected:%201|\\|^|`|||;|,|:|@|()|[]|%EF%BB%BF|null|undefined|__proto__|constructor|toString|now|'.split(
    '|',
  )
const orders = ['asc', 'desc', 'ASC', 'random', '', 'asc%00', 'asc,desc']
const parameters =
  'cursor|limit|order|base_asset_type|base_asset_code|base_asset_issuer|counter_asset_type|counter_asset_code|counter_asset_issuer|offer_id|X-Client-Name|__proto__|a[]|%zz'.split(
    '|',
  )
const accepts = [
  '*/*',
  'application/json',
  'application/hal+json',
  'image/png',
  'text/html,*/*;q=0.1',
  'text/html',
  ';q=1',
  'a/b;q=',
  ',,,',
  'application/json;q=0',
  '*',
]
const own = [
  '/',
  '/problems/bad_request',
  '/problems/x',
  '/openapi.json',
  '/health',
  '/metrics',
  '/favicon.ico',
  '/.env',
  '//',
  '/../',
  '/%2e%2e/ledgers',
]
const paths = Object.values(catalogue).map(({ path }) => path)
const livePaths = Object.values(catalogue).flatMap((query) => (query.kind === 'list' && query.live ? [query.path] : []))
const methods = ['POST', 'PUT', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND', 'PURGE', 'MKCOL', 'REPORT']
const refused = [
  'GET /%s HTTP/9.9\r\nHost: x\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n',
  'get / HTTP/1.1\r\n\r\n',
  'GET http://a"b/ HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n',
  'CONNECT x.test:80 HTTP/1.1\r\nHost: x\r\n\r\n',
  `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`,
]
const hosts = ['x.test', 'x.test:80', '127.0.0.1:8000', '[::1]', 'X.TEST.', 'a"b', 'x y', '', 'x:99999', '<x>', 'x'.repeat(300), 'ü']

export class Grammar {
  private readonly chance: Chance
  private readonly known: Known

  constructor(seed: string, known: Known) {
    this.chance = random(seed)
    this.known = known
  }

  volley(): Volley {
    const { chance } = this
    const draw = chance.below(1000)
    if (draw < 560) return { kind: 'well-formed', ...this.requests(1 + chance.below(14)) }
    if (draw < 820)
      return { ...this.requests(1 + chance.below(3)), kind: 'mutated', ...this.mutated(this.requests(1 + chance.below(3)).bytes) }
    if (draw < 870) return { kind: 'garbage', methods: [], bytes: this.garbage() }
    if (draw < 930) {
      const { bytes, methods } = this.requests(1 + chance.below(4))
      return { kind: 'reset', methods, bytes: bytes.subarray(0, chance.below(bytes.length) + 1) }
    }
    if (draw < 945) return { kind: 'slow', ...this.requests(1) }
    if (draw < 990) return { kind: 'stream', methods: ['GET'], bytes: this.streamRequest() }
    return {
      kind: 'unread',
      methods: Array(40).fill('GET'),
      bytes: Buffer.from(`GET /operations?limit=200 HTTP/1.1\r\nHost: x.test\r\n\r\n`.repeat(40)),
    }
  }

  /** Requests one behind another, the last of which ends the connection. */
  private requests(count: number): { bytes: Buffer; methods: string[] } {
    const broken = this.chance.chance(0.1)
    const made = Array.from({ length: count }, (_, i) => this.request(i === count - 1 && !broken))
    // One that the parser rejects is answered too, in its turn.
    if (broken) made.push({ method: 'GET', text: this.chance.pick(refused) })
    return { bytes: Buffer.from(made.map(({ text }) => text).join(''), 'latin1'), methods: made.map(({ method }) => method) }
  }

  private request(last: boolean): { text: string; method: string } {
    const { chance } = this
    const method = chance.chance(0.84) ? 'GET' : chance.chance(0.5) ? 'HEAD' : chance.chance(0.4) ? 'OPTIONS' : chance.pick(methods)
    const lines: string[] = []
    if (chance.chance(0.98)) lines.push(`Host: ${chance.chance(0.95) ? 'x.test' : chance.pick(hosts)}`)
    if (chance.chance(0.4)) lines.push(`Accept: ${chance.pick(accepts)}`)
    if (chance.chance(0.1)) lines.push(`If-None-Match: ${chance.pick(['*', '"x"', 'W/"x"', '"', ',,'])}`)
    if (chance.chance(0.05)) lines.push(`Last-Event-ID: ${this.value()}`)
    if (chance.chance(0.05)) lines.push(chance.pick(['Range: bytes=0-1', 'X-Forwarded-Proto: x', 'Accept-Encoding: gzip']))
    if (chance.chance(0.03)) lines.push(`X: ${'x'.repeat(chance.below(8000))}`)
    if (chance.chance(0.02)) lines.push(...Array.from({ length: chance.below(150) }, (_, i) => `X-${i}: ${i}`))
    if (chance.chance(0.01)) lines.push(`Expect: ${chance.pick(['miracles', '100-continue'])}`)
    let body = ''
    if (chance.chance(0.05) || /^P/.test(method)) {
      body = 'x'.repeat(chance.below(2000))
      lines.push(`Content-Length: ${body.length}`)
    }
    // Node reads nothing that comes in one packet behind a requested upgrade.
    if (last) lines.push(chance.chance(0.05) ? 'Upgrade: websocket\r\nConnection: close, upgrade' : 'Connection: close')
    return { method, text: `${method} ${this.target()} HTTP/1.1\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n${body}` }
  }

  /** Made of bytes that may appear in a request line. */
  private target(): string {
    const { chance } = this
    const path = chance.chance(0.08) ? chance.pick(own) : this.path(chance.pick(paths))
    const query = Array.from({ length: chance.below(4) }, () => `${chance.pick(parameters)}=${this.value()}`).join(
      chance.pick(['&', '&', '&&', ';']),
    )
    const target = path + (query === '' ? '' : `?${query}`) + (chance.chance(0.02) ? `&x=${'y'.repeat(chance.below(12_000))}` : '')
    const sent = chance.chance(0.02) ? `http://${chance.pick(['x.test', 'x.test:1', '[::1]'])}${target}` : target
    return sent.replace(/[^\x21-\x7e]/g, (sign) => encodeURIComponent(sign))
  }

  private path(template: string): string {
    return template.replace(/\{(\w+)\}/g, (_, name) => (this.chance.chance(0.7) ? this.known[name as keyof Known] : this.value()))
  }

  private value(): string {
    const { chance } = this
    const draw = chance.below(10)
    if (draw < 3) return chance.pick(integers).replace(/[^\x21-\x7e]/g, (sign) => encodeURIComponent(sign))
    if (draw < 5) return chance.pick(Object.values(this.known))
    if (draw < 6) return String(chance.below(400))
    if (draw < 7) return chance.pick(orders)
    if (draw < 8) return `${chance.pick(integers).trim()}-${chance.pick(integers).trim()}`.replace(/[^\x21-\x7e]/g, '')
    if (draw < 9) return chance.pick(['native', 'credit_alphanum4', 'credit_alphanum12', 'USD', 'x'.repeat(chance.below(300))])
    return chance.pick(texts)
  }

  private streamRequest(): Buffer {
    const { chance } = this
    const path = this.path(chance.pick(livePaths)).replace(/[^\x21-\x7e]/g, '')
    const cursor = chance.chance(0.5) ? '' : `?cursor=${chance.chance(0.5) ? 'now' : this.value().replace(/[^\x21-\x7e]/g, '')}`
    return Buffer.from(`GET ${path}${cursor} HTTP/1.1\r\nHost: x.test\r\nAccept: text/event-stream\r\n\r\n`, 'latin1')
  }

  private mutated(given: Buffer): { bytes: Buffer; methods: readonly string[] } {
    const { chance } = this
    let bytes = Buffer.from(given)
    for (let times = 1 + chance.below(4); times > 0; times--) {
      const at = chance.below(bytes.length + 1)
      const length = chance.pick([1, 1, 2, 8, 100])
      const insert = (piece: Buffer) => Buffer.concat([bytes.subarray(0, at), piece, bytes.subarray(at)])
      const way = chance.below(7)
      if (way === 0 && at < bytes.length) bytes[at]! ^= 1 << chance.below(8)
      else if (way === 1) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)])
      else if (way === 2)
        bytes = insert(
          Buffer.from(
            chance.pick([
              '\0',
              '\r',
              '\n',
              '\r\n',
              '\r\n\r\n',
              ' ',
              '\t',
              ':',
              '\xff',
              '%',
              '/',
              '?',
              'HTTP/1.1',
              'Content-Length: 5\r\n',
              'Transfer-Encoding: chunked\r\n',
            ]),
            'latin1',
          ),
        )
      else if (way === 3) bytes = insert(bytes.subarray(at, at + length))
      else if (way === 4) bytes = bytes.subarray(0, at)
      else if (way === 5) bytes = insert(Buffer.from(chance.hex(8), 'hex'))
      else if (at < bytes.length) bytes[at] = chance.below(256)
    }
    return { bytes: Buffer.from(bytes), methods: [] }
  }

  private garbage(): Buffer {
    const { chance } = this
    const known = [
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      'SSH-2.0-x\r\n',
      '\r\n\r\n\r\n',
      'GET',
      'HTTP/1.1 200 OK\r\n\r\n',
      '{"a":1}\n',
      'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n',
    ]
    return chance.chance(0.5) ? Buffer.from(chance.pick(known), 'latin1') : Buffer.from(chance.hex(8 * (1 + chance.below(400))), 'hex')
  }
}
