/** `folio get`: one answer, its status told by the exit code. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { level } from '../../adapters/level/index.ts'
import { openLedger } from '../../src/index.ts'
import { directory, folio, lines, ndjson } from './support.ts'

const closes = lines(5)

async function filled(): Promise<string> {
  const data = join(directory(), 'data')
  await folio(['ingest', '--data', data, '--batch', '5', '-'], { stdin: ndjson(closes) })
  return data
}

describe('a store of five ledgers', () => {
  test('gives a record, a page, a problem, by path', async () => {
    const data = await filled()
    const one = await folio(['get', '/ledgers/2100003', '--data', data])
    expect(one).toMatchObject({ code: 0, err: '' })
    expect(JSON.parse(one.out)).toMatchObject({ sequence: 2_100_003, hash: JSON.parse(closes[3]!).ledger.hash })

    const page = await folio(['get', 'ledgers?limit=2&order=desc', '--data', data])
    expect(JSON.parse(page.out)._embedded.records.map((record: any) => record.sequence)).toEqual([2_100_004, 2_100_003])

    const missing = await folio(['get', '/ledgers/9999999', '--data', data])
    expect(missing).toMatchObject({ code: 4, err: '' })
    expect(JSON.parse(missing.out)).toMatchObject({ status: 404, type: '/problems/not_found' })

    const wrong = await folio(['get', '/ledgers?limit=0', '--data', data])
    expect(wrong.code).toBe(4)
    expect(JSON.parse(wrong.out)).toMatchObject({ status: 400, extras: { invalid_field: 'limit' } })
  })

  test('gives the head on request, and links from the base URL', async () => {
    const data = await filled()
    const { out } = await folio(['get', '/ledgers?limit=1', '--data', data, '--headers', '--base-url', 'https://example.org/api/'])
    expect(out).toMatch(/^HTTP\/1\.1 200\n/)
    expect(out).toMatch(/\ncontent-type: application\/hal\+json; charset=utf-8\n/i)
    expect(JSON.parse(out.slice(out.indexOf('\n\n')))._links.self.href).toMatch(/^https:\/\/example\.org\/api\/ledgers\?/)
  })

  test('gives what a link in its own answers leads to, whatever links begin with', async () => {
    const data = await filled()
    for (const more of [[], ...['https://example.org/api/', 'HTTPS://example.org:443/api'].map((base) => ['--base-url', base])]) {
      const get = async (path: string) => JSON.parse((await folio(['get', path, '--data', data, ...more])).out)
      const { next, self } = (await get('/ledgers?limit=2'))._links
      expect((await get(next.href))._embedded.records.map((record: any) => record.sequence)).toEqual([2_100_002, 2_100_003])
      expect((await get(self.href))._links.self).toEqual(self)
      expect((await get('http://127.0.0.1:8001/ledgers/2100003')).sequence).toBe(2_100_003)
      expect((await get('http://127.0.0.1:8001')).history.last_ledger).toBe(2_100_004)
    }
  })

  test('gives what is asked for under another host or port, also one that begins like the base URL', async () => {
    const data = await filled()
    for (const link of ['http://127.0.0.1:8001/ledgers/2100003', 'http://127.0.0.1.example/ledgers/2100003'])
      expect(JSON.parse((await folio(['get', link, '--data', data, '--base-url', 'http://127.0.0.1'])).out).sequence).toBe(2_100_003)
  })

  test('gives all records of a list as NDJSON, whatever the limit says', async () => {
    const data = await filled()
    const get = (path: string, ...more: string[]) => folio(['get', path, '--data', data, ...more])
    const page = JSON.parse((await get('/operations?limit=200')).out)
    const wanted = page._embedded.records.map(({ _links, ...members }: any) => members)
    expect(wanted.length).toBeGreaterThan(20)
    const all = await get('/operations?limit=1', '--ndjson')
    expect(all).toMatchObject({ code: 0, err: '' })
    expect(all.out).toMatch(/^\{"id":9019431321604097,.*\}\n$/s)
    const parse = (text: string) =>
      text
        .slice(0, -1)
        .split('\n')
        .map((line) => JSON.parse(line))
    expect(parse(all.out)).toEqual(wanted)
    const after = page._embedded.records.at(-3).paging_token
    expect(parse((await get(`/operations?cursor=${after}`, '--ndjson')).out)).toEqual(wanted.slice(-2))
    expect(parse((await get('/operations?order=desc', '--ndjson')).out)).toEqual(wanted.toReversed())
    expect(await get(`/operations?cursor=${wanted.at(-1).paging_token}`, '--ndjson')).toMatchObject({ code: 0, out: '', err: '' })

    const [base, link] = ['https://example.org/api', `https://example.org/api/operations?cursor=${after}`]
    expect(parse((await get(link, '--ndjson', '--base-url', base)).out)).toEqual(wanted.slice(-2))

    const missing = await get('/ledgers/9999999/operations', '--ndjson')
    expect([missing.code, JSON.parse(missing.out).status]).toEqual([4, 404])
    expect(await get('/ledgers/2100003', '--ndjson')).toEqual({ code: 2, out: '', err: 'folio: --ndjson needs a path that gives a list\n' })
  })

  test('keeps 64-bit integers exact', async () => {
    const data = await filled()
    const { out } = await folio(['get', '/operations?limit=1', '--data', data])
    expect(out).toMatch(/"id":9019431321604097\b/)
  })

  test('is rejected while it is open elsewhere', async () => {
    const data = await filled()
    await using _ = await openLedger(level(data))
    expect(await folio(['get', '/', '--data', data])).toMatchObject({
      code: 3,
      out: '',
      err: expect.stringMatching(/^folio: STORE_LOCKED: /),
    })
  })
})

test('a directory without a store is not made into one', async () => {
  const data = join(directory(), 'data')
  for (const command of [
    ['get', '/'],
    ['serve', '--port', '0'],
  ]) {
    expect(await folio([...command, '--data', data])).toMatchObject({ code: 3, err: expect.stringMatching(/^folio: STORE_MISSING: /) })
  }
})

test('neither a status line and headers nor a profile can be combined with records', async () => {
  const get = async (...more: string[]) => {
    const { code, err } = await folio(['get', '/ledgers', '--data', 'unread', '--ndjson', ...more])
    return [code, err.split('\n')[0]]
  }
  expect(await get('--headers')).toEqual([2, "folio: option '--ndjson' cannot be used with option '--headers'"])
  expect(await get('--profile', 'document')).toEqual([2, "folio: option '--ndjson' cannot be used with option '--profile <name>'"])
})
