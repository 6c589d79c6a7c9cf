/** `folio check`: what it says about a service, and its exit codes. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { listener, serve } from '../../adapters/http/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { openLedger, parseJson } from '../../src/index.ts'
import { faultyPages } from '../kit/faulty-pages.ts'
import { halService } from '../kit/hal-service.ts'
import { Pages } from '../kit/pages.ts'
import { failing, folio, lines, start } from './support.ts'

async function listening(server: Server, port = 0): Promise<string> {
  await once(server.listen(port, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A service that is not ours, behind a socket. After so many answers, it is too busy for any more. */
const other = (pages: Pages, answers = Number.POSITIVE_INFINITY): Promise<string> => {
  const answer = halService(pages)
  let answered = 0
  return listening(
    createServer(async (request, response) => {
      if (answered++ >= answers) return void response.writeHead(429, { 'retry-after': '0.001' }).end()
      const { status, body } = await answer(`http://${request.headers.host}${request.url}`)
      response.writeHead(status, { 'content-type': 'application/hal+json' })
      for await (const chunk of body!) response.write(chunk)
      response.end()
    }),
  )
}

test('a service that pages well passes', async () => {
  const url = await other(new Pages())
  const { code, out, err } = await folio(['check', url])
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toMatch(
    /^✓ \/rows +9 of 9 laws hold, \d+ requests\nnot checked: headers, refusals and the form of streams \(it is of another make: GET \/no\/such\/path is answered 404, no problem, and nothing is served at \/problems\/not_found\)\nnot checked: streams of 1 of 1 listings \(GET \/rows as a stream is answered 200 application\/hal\+json\)\n\nno law is broken; 1 listing, 0 checks left out, [\d,]+ requests in [\d.]+ s\n$/,
  )
})

test('that links lead to another port is said with that port, which may begin as the one that was checked', async () => {
  const ledger = await openLedger(memory())
  onTestFinished(() => ledger.close())
  const server = createServer()
  // A port of four digits, since there has to be one that begins like it.
  const bound = (port: number): Promise<string> => listening(server, port).catch(() => bound(port - 1))
  const url = await bound(6_553)
  server.on('request', listener(ledger, { baseUrl: `${url}0` }))
  const { code, out } = await folio(['check', url, '--listings', '1'])
  expect(code).toBe(0)
  expect(out).toContain(`\nnot checked: what its links lead to, which is ${url}0: what `)
})

test('a listing that was mostly not checked is not said to be well, and the verdict counts what was checked', async () => {
  const { code, out } = await folio(['check', await other(new Pages()), '--requests', '26'])
  expect(code).toBe(1)
  expect(out).toMatch(/^\? \/rows +[1-4] of 9 laws hold, /)
  expect(out).toMatch(/\n\n[1-4] of 9 checks made, and no law was seen broken; 1 listing, [5-8] checks left out, /)
  const none = await folio(['check', await other(new Pages()), '--requests', '8'])
  expect(none.code).toBe(1)
  expect(none.out).toMatch(/^\? \/rows +0 of 9 laws hold, \d requests\n {4}nothing was checked \(its share of the 8 requests was used\)\n/)
})

test('a service that stays busy is not said to be well, nor one that does so near the end to be unchecked', async () => {
  const until = async (answers: number) => folio(['check', await other(new Pages(), answers)])
  const { requests } = JSON.parse((await folio(['check', await other(new Pages()), '--json'])).out)
  const [early, late] = [await until(60), await until(requests - 10)]
  expect(early.out).toMatch(/ was answered 429, 5 times in a row\)\n/)
  expect(late.out).toMatch(/ was answered 429, 5 times in a row\)\n/)
  expect([early.code, late.code]).toEqual([1, 0])
})

test('a service that does not fails: the law, the request and the answer are printed, and the exit code is 7', async () => {
  const [, , Listing] = faultyPages.find(([, fault]) => fault.startsWith('resumes after all records'))!
  const url = await other(new Listing())
  const { code, out } = await folio(['check', url])
  expect(code).toBe(7)
  expect(out).toMatch(/^✗ \/rows /)
  expect(out).toMatch(
    /\n {4}broken: every token resumes exactly after its record.*\n {8}GET \/rows\?cursor=\S+&limit=\d+&order=asc: expected \S+ at place 0, got /,
  )
  expect(out).toMatch(/\n\nlaws are broken on 1 of 1 listing, \d+ times; /)
  const json = await folio(['check', url, '--json', '--requests', '100'])
  expect(json.code).toBe(7)
  expect(JSON.parse(json.out)).toMatchObject({ url, listings: [{ kind: '/rows', empty: false, laws: expect.any(Array) }] })
})

test('our own service passes, with a list of what was left out', async () => {
  const ledger = await openLedger(memory())
  await ledger.ingest(lines(12).map((line) => parseJson(line) as any))
  const server = await serve(ledger, { port: 0 })
  try {
    const { code, out } = await folio(['check', server.url, '--requests', '1000', '--window', '20', '--listings', '12'])
    expect(out).toMatch(/[✓?] \/ledgers /)
    expect(out).toMatch(/\n[✓?] the service as a whole +\d of 5 laws hold, \d+ requests\n/)
    expect(out).toMatch(/not checked: .* \(its share of the 1000 requests was used\)|12 listings/)
    expect(code).toBe(0)
  } finally {
    await server.close()
    await ledger.close()
  }
})

test('a service without records is not said to keep the laws', async () => {
  const ledger = await openLedger(memory())
  const server = await serve(ledger, { port: 0 })
  try {
    const { code, out } = await folio(['check', server.url])
    expect({ code, last: out.trim().split('\n').at(-1) }).toEqual({
      code: 0,
      last: expect.stringMatching(
        /^no law is broken, but no paging was checked, since no listing holds records; 6 listings, 0 checks left out, /,
      ),
    })
  } finally {
    await server.close()
    await ledger.close()
  }
})

test('a user and password in the URL are sent to the service, and never printed', async () => {
  const answer = halService(new Pages())
  const seen = new Set<string | undefined>()
  const url = await listening(
    createServer(async (request, response) => {
      seen.add(request.headers.authorization)
      const { status, body } = await answer(`http://${request.headers.host}${request.url}`)
      response.writeHead(status, { 'content-type': 'application/hal+json' })
      for await (const chunk of body!) response.write(chunk)
      response.end()
    }),
  )
  const asUser = url.replace('//', '//me:secr%40t%zz@')
  for (const more of [[], ['--json'], ['--requests', '1']]) {
    const { out, err } = await folio(['check', asUser, ...more])
    expect(out + err).not.toMatch(/secr|me:|@/)
    expect(out + err).toMatch(/\/rows|no listing was found/)
  }
  expect([...seen]).toEqual([`Basic ${Buffer.from('me:secr@t%zz').toString('base64')}`])
  const gone = await folio(['check', 'http://me:secret@127.0.0.1:9'])
  expect(gone).toEqual({ code: 1, out: '', err: expect.stringMatching(/^folio: cannot be checked: GET http:\/\/127\.0\.0\.1:9\/: /) })
})

test('a password is sent to no other host that an answer names', async () => {
  const passwords: (string | undefined)[] = []
  const elsewhere = await listening(
    createServer((request, response) => {
      passwords.push(request.headers.authorization)
      response.writeHead(404).end()
    }),
  )
  const url = await listening(
    createServer((_, response) => {
      const self = { href: '/rows' }
      const page = { _links: { self, next: { href: `${elsewhere}/rows` }, prev: self }, _embedded: { records: [{ paging_token: '1' }] } }
      response.writeHead(200, { 'content-type': 'application/hal+json' }).end(JSON.stringify(page))
    }),
  )
  expect((await folio(['check', `${url.replace('//', '//me:secret@')}/rows`])).code).toBe(7)
  expect(passwords.filter((password) => password !== undefined)).toEqual([])
})

test('of a listing that is asked for by its URL, what is broken is said with its path and query', async () => {
  const [, , Listing] = faultyPages.find(([, fault]) => fault.startsWith('resumes after all records'))!
  const url = await other(new Listing())
  const { out } = await folio(['check', `HTTP${url.slice(4)}/rows?order=desc`])
  expect(out).toMatch(/\n {8}GET \/rows\?\S*cursor=/)
})

test('ends if nobody reads its output', async () => {
  const url = await other(new Pages())
  expect(await folio(['check', url], { stdout: failing('EPIPE') })).toMatchObject({ code: 141, err: '' })
})

test.for([1, 5])('%i requests are too few to find anything', async (requests) => {
  const url = await other(new Pages())
  expect(await folio(['check', url, '--requests', String(requests)])).toEqual({
    code: 1,
    out: '',
    err: `folio: cannot be checked: no listing was found at ${url}: not before its share of the ${requests} requests was used\n`,
  })
})

test('a signal ends it while listings are looked for', async () => {
  const running = start(['check', await other(new Pages())])
  running.stop('SIGINT')
  expect(await running.done).toEqual({ code: 130, out: '', err: '' })
})

test('says so if nobody is there, or nothing to check', async () => {
  const url = await listening(createServer((_, response) => response.writeHead(404).end()))
  expect(await folio(['check', url])).toMatchObject({
    code: 1,
    out: '',
    err: `folio: cannot be checked: no listing was found at ${url}, which is answered 404: neither a page, nor links to pages, nor the usual paths\n`,
  })
  expect(await folio(['check', 'http://127.0.0.1:9'])).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^folio: cannot be checked: GET http/),
  })
})
