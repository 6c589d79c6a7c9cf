/** What a request may say, and how it is rejected. */
import { format } from 'node:util'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { createCore, listOf, type ProblemName, problemResponse, problems } from '../../adapters/http/index.ts'
import { negotiate } from '../../adapters/http/negotiate.ts'
import { problemOf } from '../../adapters/http/problem.ts'
import { catalogue, type ErrorCode, errorTable, FolioError, type Ledger } from '../../src/index.ts'
import { type Ask, answerOf, asker, badOption, hashOf, idOf, smallLedger, tokensOf } from './support.ts'

let ledger: Ledger
let ask: Ask
beforeAll(async () => {
  ledger = await smallLedger()
  ask = asker(ledger)
})

const refused = async (target: string): Promise<[number, string | undefined]> => {
  const { status, body, headers } = await ask(target)
  if (status !== 200) {
    expect(headers['content-type']).toBe('application/problem+json; charset=utf-8')
    expect(body.status).toBe(status)
    expect(Object.keys(body)).toEqual(['type', 'title', 'status', 'detail', 'extras'])
    expect((await ask(body.type)).status).toBe(200)
  }
  return [status, body?.extras?.invalid_field]
}

describe('parameters', () => {
  it('are read strictly', async () => {
    for (const limit of ['0', '201', '0x10', '+5', '%2B5', '1e3', '-1', '1.0', ' 5', '5%20', '１', 'NaN', '99999999999999999999'])
      expect(await refused(`/ledgers?limit=${encodeURI(limit)}`), limit).toEqual([400, 'limit'])
    for (const cursor of ['x', '-1', '1-1', '0x1', '9223372036854775808', '1.5', 'NOW', 'null'])
      expect(await refused(`/ledgers?cursor=${cursor}`), cursor).toEqual([400, 'cursor'])
    for (const cursor of ['1-', '-1', '1-2-3', '1-x']) expect(await refused(`/effects?cursor=${cursor}`), cursor).toEqual([400, 'cursor'])
    for (const order of ['ASC', 'up', 'asc,desc']) expect(await refused(`/ledgers?order=${order}`), order).toEqual([400, 'order'])
    for (const id of ['x', '2147483648', '-1', '1e3', '+1', '0x1', '%201'])
      expect(await refused(`/ledgers/${id}`), id).toEqual([400, 'ledger'])
    for (const id of ['x', '9223372036854775808', '1-1']) expect(await refused(`/operations/${id}`), id).toEqual([400, 'operation'])
    for (const id of ['x', '9223372036854775808']) expect(await refused(`/offers/${id}/trades`), id).toEqual([400, 'offer'])
    for (const hash of ['x', 'a'.repeat(63), 'a'.repeat(65), 'g'.repeat(64)])
      expect(await refused(`/transactions/${hash}`), hash).toEqual([400, 'hash'])
  })

  it('may be empty, which means the default', async () => {
    expect(await refused('/ledgers?limit=&cursor=&order=')).toEqual([200, undefined])
    expect(await refused('/ledgers?limit&cursor&order&')).toEqual([200, undefined])
    expect(await refused('/trades?base_asset_type=&offer_id=')).toEqual([200, undefined])
  })

  it('given twice count the first time', async () => {
    expect(tokensOf(await ask('/ledgers?limit=1&limit=x&order=desc&order=asc'))).toEqual([idOf(3, 0, 0)])
    expect(await refused('/ledgers?limit=x&limit=1')).toEqual([400, 'limit'])
  })

  it('that are unknown are ignored', async () => {
    expect(await refused('/ledgers?X-Client-Name=js&_=1&lim%zzit=4&__proto__=1')).toEqual([200, undefined])
    expect(await refused('/ledgers/1?limit=x&cursor=x')).toEqual([200, undefined])
  })

  it('are checked in order: cursor, limit, order, filters, path, existence', async () => {
    const broken = ['cursor=x', 'limit=x', 'order=x', 'base_asset_type=x'] as const
    const path = '/offers/x/trades'
    expect(await refused(`${path}?${[...broken].reverse().join('&')}`)).toEqual([400, 'cursor'])
    expect(await refused(`${path}?${broken.slice(1).reverse().join('&')}`)).toEqual([400, 'limit'])
    expect(await refused(`${path}?${broken.slice(2).reverse().join('&')}`)).toEqual([400, 'order'])
    expect(await refused(`${path}?${broken[3]}`)).toEqual([400, 'base_asset_type'])
    expect(await refused(path)).toEqual([400, 'offer'])
    expect(await refused('/offers/99/trades')).toEqual([404, undefined])
  })

  it('of a pair of assets must be complete', async () => {
    const native = 'counter_asset_type=native'
    expect(await refused(`/trades?base_asset_type=native`)).toEqual([400, 'counter_asset_type'])
    const reason = async (query: string): Promise<unknown> => (await ask(`/trades?${query}`)).body.extras.reason
    expect(await reason('base_asset_type=native')).toBe('given, since base is: give both base and counter, or neither')
    expect(await reason(native)).toBe('given, since counter is: give both base and counter, or neither')
    expect(await refused(`/trades?${native}&base_asset_type=gold`)).toEqual([400, 'base_asset_type'])
    expect(await refused(`/trades?${native}&base_asset_type=credit_alphanum4`)).toEqual([400, 'base_asset_code'])
    expect(await refused(`/trades?${native}&base_asset_type=credit_alphanum4&base_asset_code=ABCDE`)).toEqual([400, 'base_asset_code'])
    expect(await refused(`/trades?${native}&base_asset_type=credit_alphanum4&base_asset_code=ABC`)).toEqual([400, 'base_asset_issuer'])
    expect(await refused(`/trades?${native}&base_asset_type=credit_alphanum4&base_asset_code=ABC&base_asset_issuer=GNONE`)).toEqual([
      200,
      undefined,
    ])
    expect(await refused('/trades?offer_id=x')).toEqual([400, 'offer_id'])
    expect(await refused('/trades?offer_id=99')).toEqual([200, undefined])
  })

  it('with malformed percent escapes are rejected, and are never an internal error', async () => {
    expect(await refused('/accounts/%zz')).toEqual([400, 'account'])
    expect(await refused('/accounts/%ff/trades')).toEqual([400, 'account'])
    expect(await refused('/ledgers?cursor=%')).toEqual([400, 'cursor'])
    expect(await refused('/trades?offer_id=%e0%a4')).toEqual([400, 'offer_id'])
    expect(await refused('/problems/%zz')).toEqual([400, 'name'])
  })
})

describe('the list that a target asks for', () => {
  it('comes with what a page of it is asked by', async () => {
    const { query, values, ...page } = listOf('http://folio.test/ledgers/2/trades?offer_id=7&order=desc&limit=3&cursor=now')!
    expect(query).toBe(catalogue.tradesOfLedger)
    expect(values).toEqual({ ledger: 2, offer_id: 7n })
    expect(page).toEqual({ cursor: 'now', order: 'desc', limit: 3 })
    expect(listOf('/ledgers')).toEqual({ query: catalogue.ledgers, values: {}, cursor: '', order: 'asc', limit: 10 })
    for (const other of ['/ledgers/2', '/', '/health', '/nothing']) expect(listOf(other)).toBeUndefined()
  })

  it('is BAD_REQUEST wherever a request for it is refused as malformed', () => {
    const faults = {
      '/accounts/%zz/trades': 'account',
      '/ledgers?cursor=%': 'cursor',
      '/ledgers?limit=0': 'limit',
      ledgers: 'path',
      '': 'path',
    }
    expect(() => listOf(undefined as unknown as string)).toThrow(expect.objectContaining({ code: 'BAD_REQUEST' }))
    for (const [target, field] of Object.entries(faults)) {
      expect(() => listOf(target)).toThrow(FolioError)
      expect(() => listOf(target)).toThrow(expect.objectContaining({ code: 'BAD_REQUEST', fields: expect.objectContaining({ field }) }))
    }
  })
})

describe('a request target', () => {
  it('is never rewritten', async () => {
    expect(await refused('//folio.test/ledgers')).toEqual([404, undefined])
    expect(await refused('/../ledgers')).toEqual([404, undefined])
    expect(await refused('/ledgers/../transactions')).toEqual([400, 'ledger'])
    expect(await refused('/ledgers/%2e%2e/transactions')).toEqual([400, 'ledger'])
    expect(await refused('/accounts/..')).toEqual([404, undefined])
    expect(await refused('\\ledgers')).toEqual([400, 'path'])
    expect(await refused('/ledgers\\')).toEqual([404, undefined])
    expect(await refused('/accounts//trades')).toEqual([404, undefined])
    expect(await refused('/LEDGERS')).toEqual([404, undefined])
    expect(await refused('ledgers')).toEqual([400, 'path'])
    expect(await refused('*')).toEqual([400, 'path'])
    expect(await refused('')).toEqual([400, 'path'])
    expect(await refused('/ledgers#x')).toEqual([400, 'path'])
    expect(await refused('/accounts/ö')).toEqual([400, 'path'])
    expect(await refused('/ledgers?cursor=\0')).toEqual([400, 'path'])
    for (const path of ['/constructor', '/__proto__', '/problems/constructor', '/accounts/__proto__'])
      expect(await refused(path), path).toEqual([404, undefined])
  })

  it('may end in one slash, and may be absolute', async () => {
    expect(await refused('/ledgers/')).toEqual([200, undefined])
    expect(await refused('/ledgers/1/transactions/?limit=1')).toEqual([200, undefined])
    expect(await refused('/ledgers//')).toEqual([404, undefined])
    expect((await ask('http://other.test/ledgers/1')).body._links.self.href).toBe('http://other.test/ledgers/1')
    expect((await ask('https://other.test?x')).body._links.self.href).toBe('https://other.test/')
    expect(await refused('http://user@other.test/ledgers')).toEqual([400, 'Host'])
    expect(await refused('ftp://other.test/ledgers')).toEqual([400, 'path'])
  })

  it('that is malformed is told what it has to be', async () => {
    const reason = async (target: string): Promise<unknown> => (await ask(target)).body.extras.reason
    expect(await reason('/accounts/ö')).toBe('a request target of printable ASCII characters, the rest percent-encoded')
    expect(await reason('ledgers')).toBe('a request target that begins with a slash')
    expect(await reason('/accounts/%zz')).toBe('percent escapes of UTF-8 text')
  })

  it('has parameters in percent escapes, blanks among them, and more than one question mark', () => {
    const pair = 'base_asset_type=native&counter_asset_type=credit_alphanum4&counter_asset_code=A%42&counter_asset_issuer=G+I+J'
    expect(listOf(`/trades?${pair}&lim%69t=3&limit=4`)).toMatchObject({
      values: { base: { type: 'native' }, counter: { code: 'AB', issuer: 'G I J' } },
      limit: 3,
    })
    expect(listOf('/ledgers?cursor=1?limit=5')).toMatchObject({ cursor: '1', limit: 5 })
    expect(() => listOf('/ledgers?cursor=1?other=5')).toThrow(expect.objectContaining({ code: 'BAD_REQUEST' }))
    expect(listOf('/ledgers?%zz=1&limit&order=desc')).toMatchObject({ limit: 10, order: 'desc' })
  })

  it('that is too long is rejected before it is looked at', async () => {
    const short = asker(ledger, { maxTargetBytes: 256 })
    expect((await short(`/ledgers?${'x'.repeat(247)}`)).status).toBe(200)
    expect((await short(`/ledgers?${'x'.repeat(248)}`)).status).toBe(414)
    expect(await refused(`/ledgers?${'x'.repeat(8192)}`)).toEqual([414, undefined])
    expect(await refused(`/ledgers?${'x'.repeat(8000)}`)).toEqual([200, undefined])
  })
})

describe('methods', () => {
  it('HEAD has the headers of GET, and no body', async () => {
    for (const target of ['/ledgers', '/ledgers/1', '/', '/metrics', '/nothing', '/ledgers?limit=x']) {
      const [get, head] = [await ask(target), await ask(target, {}, { method: 'HEAD' })]
      expect(head.status).toBe(get.status)
      expect(head.text).toBe('')
      // The figures change with every request.
      if (target !== '/metrics' && target !== '/nothing' && target !== '/ledgers?limit=x') expect(head.headers).toEqual(get.headers)
    }
  })

  it('OPTIONS answers a preflight, for any path', async () => {
    for (const target of ['/ledgers', '/nothing', '*']) {
      const { status, headers, text } = await ask(
        target,
        { 'access-control-request-headers': 'x-client-name, x-client-version' },
        { method: 'OPTIONS' },
      )
      expect([status, text]).toEqual([204, ''])
      expect(headers).toMatchObject({
        allow: 'GET, HEAD, OPTIONS',
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'GET, HEAD, OPTIONS',
        'access-control-max-age': '86400',
        'access-control-allow-headers': 'x-client-name, x-client-version',
      })
    }
    const { headers } = await ask('/', { 'access-control-request-headers': 'a\r\nb' }, { method: 'OPTIONS' })
    expect(headers['access-control-allow-headers']).toBeUndefined()
  })

  it('other than these are not allowed', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'TRACE', 'get']) {
      const { status, headers, body } = await ask('/ledgers', {}, { method })
      expect([status, headers['allow'], body.type]).toEqual([405, 'GET, HEAD, OPTIONS', '/problems/method_not_allowed'])
    }
  })
})

describe('the Accept header', () => {
  it.each([
    [undefined, 'hal'],
    ['', 'hal'],
    ['*/*', 'hal'],
    ['application/*', 'hal'],
    ['application/json', 'json'],
    ['application/json, text/plain, */*', 'json'],
    ['Application/JSON;charset=utf-8', 'json'],
    ['application/hal+json', 'hal'],
    ['application/hal+json;q=0.5, application/json;q=0.6', 'json'],
    ['application/json;q=0.5, */*', 'hal'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'hal'],
    ['text/event-stream', 'stream'],
    ['text/event-stream, */*;q=0.1', 'stream'],
    ['text/event-stream;q=0.1, application/json', 'json'],
    ['text/event-stream;q=0, application/json', 'json'],
    ['application/hal+json;q=0, */*', 'json'],
    ['text/html', undefined],
    ['text/event-stream;q=0', undefined],
    ['*/*;q=0', undefined],
    ['json', undefined],
    ['application/json;q=x, text/html', 'json'],
    ['application/hal+json;profile="a,b;q=0.9\\"";q=0.2, text/event-stream;q=0.5', 'stream'],
    ['application/json;profile="a, b"', 'json'],
    // Of two of a kind the first counts; between two kinds, the first of those asked for as much and as precisely.
    ['application/json;q=0.1, application/json;q=0.9, application/hal+json;q=0.5', 'hal'],
    ['application/json, application/hal+json', 'json'],
    ['application/hal+json, application/json', 'hal'],
    ['text/event-stream, application/hal+json', 'stream'],
    ['*/*, application/json', 'json'],
    // What is more precise decides, though what is less so comes first.
    ['*/*, application/*;q=0.5', 'stream'],
    ['application/*, application/hal+json;q=0.5', 'json'],
    ['text/*', 'stream'],
    ['text/*;q=0, */*', 'hal'],
    ['image/*, text/event-stream;q=0.1', 'stream'],
    ['application /*', undefined],
    ['*', undefined],
    // What is a quality, and what is not.
    ['application/json; q = 0.3 , application/hal+json;q=0.4', 'hal'],
    ['application/json;q=0.3;v=1, application/hal+json;Q=0.4', 'hal'],
    ['application/json;xq=0.1, application/hal+json;q=0.5', 'json'],
    ['application/json;q=0.1x, application/hal+json;q=0.5', 'json'],
    ['application/json;q=0.1 x, application/hal+json;q=0.5', 'json'],
    ['application/json;q=9, application/hal+json;q=5', 'json'],
    ['application/json;q=0.1.2, application/hal+json;q=0.1', 'hal'],
  ])('%j is answered with %s', (accept, form) => {
    expect(negotiate(accept, true)).toBe(form)
    expect(negotiate(accept, true)).toBe(form)
  })

  it('is read as far as any client needs, and never cut within a range', () => {
    const many = 'text/html,'.repeat(200)
    expect(negotiate(`application/json,${many}`, true)).toBe('json')
    expect(negotiate(`${many}application/json`, true)).toBeUndefined()
    expect(negotiate(`${'text/html,'.repeat(102)} */*;q=0`, true)).toBeUndefined()
    expect(negotiate(`text/html;${'x'.repeat(2000)}`, true)).toBeUndefined()
  })

  it('asking for a stream that does not exist gets the next best type, or 406', () => {
    expect(negotiate('text/event-stream', false)).toBeUndefined()
    expect(negotiate('text/event-stream, */*;q=0.1', false)).toBe('hal')
  })

  it('decides the content type, or gets 406', async () => {
    expect((await ask('/ledgers')).headers).toMatchObject({ 'content-type': 'application/hal+json; charset=utf-8', vary: 'accept' })
    expect((await ask('/ledgers', { accept: 'application/json' })).headers['content-type']).toBe('application/json; charset=utf-8')
    for (const [target, accept] of [
      ['/ledgers', 'text/html'],
      ['/ledgers/1', 'text/event-stream'],
      ['/', 'image/png'],
    ] as const) {
      const { status, headers, body } = await ask(target, { accept })
      expect([status, headers['vary'], body.type]).toEqual([406, 'accept', '/problems/not_acceptable'])
    }
  })

  it('does not decide whether what has one form is answered', async () => {
    for (const target of ['/problems/not_found', '/openapi.json', '/health', '/metrics'])
      expect((await ask(target, { accept: 'text/event-stream' })).status).toBe(200)
  })

  it('asking for a stream in descending order is rejected', async () => {
    const { status, body } = await ask('/ledgers?order=desc', { accept: 'text/event-stream' })
    expect([status, body.extras.invalid_field]).toEqual([400, 'order'])
  })
})

describe('the Host header', () => {
  it('is what links begin with', async () => {
    for (const host of ['a', 'a.b-c.d:8000', '127.0.0.1:80', '[::1]:8000', 'Folio.Test.', 'x_y.z', '_x.z_'])
      expect((await ask('/ledgers/1', { host })).body._links.self.href).toBe(`http://${host.toLowerCase()}/ledgers/1`)
    expect((await ask('/ledgers/1', { host: 'H:' })).body._links.self.href).toBe('http://h/ledgers/1')
  })

  it('is rejected if it could be anything else', async () => {
    for (const host of [
      '',
      'a"b',
      'a/b',
      'a b',
      'a@b',
      '<x>',
      'a:b',
      'a:123456',
      'a:99999',
      '256.1.1.1',
      '[1:2]',
      '-a',
      'a?b',
      'é',
      `${'a'.repeat(300)}`,
      '[x]',
      'a\\b',
      '{x}',
    ]) {
      // Twice, as the last one that was let through is remembered.
      for (let again = 0; again < 2; again++) {
        const { status, body } = await ask('/ledgers/1', { host })
        expect([status, body.extras.invalid_field], host).toEqual([400, 'Host'])
      }
    }
  })

  it('does not matter if the base URL is configured, or no link is written', async () => {
    const configured = asker(ledger, { baseUrl: 'https://api.example.com/v1/' })
    expect((await configured('/ledgers/1', { host: '"' })).body._links.self.href).toBe('https://api.example.com/v1/ledgers/1')
    expect((await ask('/health', { host: '' })).status).toBe(200)
    expect((await ask('/ledgers/1', { host: '' })).body.extras.reason).toBe('a Host header, which links are built from')
    expect((await ask('/ledgers/1', { host: '<x>' })).body.extras.reason).toBe('a host name or address, and perhaps a port')
    const slashed = asker(ledger, { baseUrl: 'https://api.example.com/v1///' })
    expect((await slashed('/ledgers/1')).body._links.self.href).toBe('https://api.example.com/v1/ledgers/1')
    for (const baseUrl of [
      'api.example.com',
      '/v1',
      'ftp://x',
      'xhttp://x',
      'httpx://x',
      'https://x/?a',
      'https://x/#a',
      'https://u:p@x',
      5 as never,
    ])
      expect(() => asker(ledger, { baseUrl })).toThrow(badOption('baseUrl'))
  })

  it('yields to what a trusted proxy says, and only to that', async () => {
    const forwarded = { 'x-forwarded-proto': 'https, http', 'x-forwarded-host': 'public.test, inner' }
    expect((await ask('/ledgers/1', forwarded)).body._links.self.href).toBe('http://folio.test/ledgers/1')
    const trusting = asker(ledger, { trustProxy: true })
    expect((await trusting('/ledgers/1', forwarded)).body._links.self.href).toBe('https://public.test/ledgers/1')
    expect((await trusting('/ledgers/1', { 'x-forwarded-proto': 'javascript' })).body._links.self.href).toBe('http://folio.test/ledgers/1')
    expect((await trusting('/ledgers/1', { 'x-forwarded-host': 'a"b' })).status).toBe(400)
    const spaced = { 'x-forwarded-proto': ' HTTP , https', 'x-forwarded-host': ' public.test , inner' }
    const self = async (headers: Record<string, string>): Promise<unknown> =>
      (await trusting('/ledgers/1', headers, { scheme: 'https' })).body._links.self.href
    expect(await self(spaced)).toBe('http://public.test/ledgers/1')
    expect(await self({ 'x-forwarded-host': ' ' })).toBe('https://folio.test/ledgers/1')
  })
})

describe('problems', () => {
  it('have a page each', async () => {
    for (const [name, { status, title }] of Object.entries(problems))
      expect((await ask(`/problems/${name}`)).body).toMatchObject({ type: `/problems/${name}`, status, title })
    expect((await ask('/problems/other')).status).toBe(404)
  })

  it('of what is not found name it in a sentence', async () => {
    const detail = async (target: string) => (await ask(target)).body.detail
    expect(await detail('/accounts/GNOBODY')).toBe('Nothing matches account GNOBODY.')
    expect(await detail(`/transactions/${'0'.repeat(64)}/payments`)).toBe(`Nothing matches hash ${'0'.repeat(64)}.`)
    expect(await detail('/operations/7/effects')).toBe('Nothing matches effects of operation 7.')
    expect(await detail('/nothing')).toBe('There is nothing at this path.')
    expect(await detail('/problems/other')).toBe('There is no problem of this name.')
  })

  it('say what is known of an error that clients can mend, or wait for, and log none of those', () => {
    const said = (...error: ConstructorParameters<typeof FolioError>): unknown =>
      problemOf(new FolioError(...error), () => expect.fail('logged'))
    expect(said('NOT_FOUND', { what: 'account', value: 'GX' })).toEqual({ name: 'not_found', detail: 'Nothing matches account GX.' })
    expect(said('NOT_FOUND', {})).toEqual({ name: 'not_found' })
    expect(said('GONE_BEFORE_HISTORY', { oldest: 7 })).toEqual({ name: 'gone_before_history', extras: { oldest_ledger: 7 } })
    expect(said('GONE_BEFORE_HISTORY', {})).toEqual({ name: 'gone_before_history', extras: {} })
    const detail = 'History was taken back below what was sent. Start again.'
    expect(said('ROLLED_BACK', { last: 5 })).toEqual({ name: 'unavailable', detail, extras: { last_ledger: 5 } })
    expect(said('CLOSED', {})).toEqual({ name: 'unavailable' })
    expect(said('BAD_REQUEST', { field: 'limit', reason: '1 to 200' })).toEqual({
      name: 'bad_request',
      detail: 'limit: expected 1 to 200.',
      extras: { invalid_field: 'limit', reason: '1 to 200' },
    })
  })

  it('say when to come back if their page says that they do', () => {
    for (const [name, { detail }] of Object.entries(problems)) {
      const { headers } = answerOf(problemResponse({ name: name as ProblemName }))
      const says = detail.includes('Retry-After')
      expect([name, headers['retry-after']]).toEqual([name, says ? '5' : undefined])
      // So that scripts of other origins may read it.
      expect([name, headers['access-control-expose-headers']]).toEqual([name, says ? 'retry-after' : undefined])
    }
  })

  it('cover every error of the library: those that clients can mend by name, the rest as unavailable or internal', () => {
    const names: Record<string, string> = {}
    for (const code of Object.keys(errorTable) as ErrorCode[]) {
      const logged: unknown[] = []
      const problem = problemOf(new FolioError(code, { location: '/secret' }), (error) => logged.push(error))
      names[code] = problem.name
      expect(JSON.stringify(problem)).not.toContain('secret')
      if (problem.extras?.['id']) expect(logged).toHaveLength(1)
    }
    expect(names).toMatchObject({
      BAD_REQUEST: 'bad_request',
      NOT_FOUND: 'not_found',
      GONE_BEFORE_HISTORY: 'gone_before_history',
      CLOSED: 'unavailable',
      POISONED: 'unavailable',
      CONFLICT: 'unavailable',
      STORE_LOCKED: 'unavailable',
      STORE_DENIED: 'unavailable',
      STORE_MISSING: 'unavailable',
      STORE_FAILED: 'unavailable',
      STORE_FORMAT: 'internal_error',
      STORE_CATALOGUE: 'internal_error',
      STORE_MISUSE: 'internal_error',
      CORRUPT: 'internal_error',
    })
  })

  it('of an internal error show an id, and the log has the rest', async () => {
    const logged: [unknown, { id: string; target: string }][] = []
    const broken = {
      ...ledger,
      head: undefined,
      listing: (query: unknown, values: unknown) => ({ query, values }),
      readListing: () => Promise.reject(new Error('at /home/secret')),
      readOne: () => {
        throw new FolioError('CORRUPT', { key: 'inner workings' })
      },
    }
    const ask = asker(broken as unknown as Ledger, { log: (error, about) => logged.push([error, about]) })
    for (const target of ['/ledgers', '/ledgers/1']) {
      const { status, text, body } = await ask(target)
      expect([status, body.type]).toEqual([500, '/problems/internal_error'])
      expect(text).not.toMatch(/secret|workings/)
      expect(logged.pop()![1]).toMatchObject({ id: body.extras.id, target })
    }
  })

  it('are logged whole, even if the target reads like a format', async () => {
    const said = vi.spyOn(console, 'error').mockImplementation(() => {})
    const listing = (query: unknown, values: unknown) => ({ query, values })
    const broken = { ...ledger, head: undefined, listing, readListing: () => Promise.reject(new Error('the cause')), readOne: () => {} }
    const core = createCore(broken as unknown as Ledger)
    for (const target of [
      '/accounts/GA/payments',
      '/accounts/%c3%a9/payments',
      '/accounts/%d1%8f/payments',
      '/accounts/%f0%9f%98%80/payments',
    ]) {
      const { body } = answerOf(await core({ method: 'GET', target, header: (name) => (name === 'host' ? 'x.test' : undefined) }))
      expect(format(...said.mock.lastCall!)).toMatch(new RegExp(`^${body.extras.id} GET ${target} Error: the cause\n`))
    }
    said.mockRestore()
  })

  it('of a closed ledger say when to come back', async () => {
    const closed = await smallLedger()
    const ask = asker(closed)
    await closed.close()
    for (const target of ['/ledgers', '/ledgers/1', '/health']) {
      const { status, headers, body } = await ask(target)
      expect([status, headers['retry-after'], body.type]).toEqual([503, '5', '/problems/unavailable'])
    }
  })

  it('may be read by any origin, like every answer', async () => {
    for (const target of [
      '/ledgers',
      '/ledgers/1',
      '/nothing',
      '/ledgers?limit=x',
      '/',
      '/health',
      '/openapi.json',
      `/transactions/${hashOf('0')}`,
    ])
      expect((await ask(target)).headers['access-control-allow-origin'], target).toBe('*')
  })
})
