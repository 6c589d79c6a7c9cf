/** The laws of paging: a right API passes, faulty ones are rejected, also over HTTP. */
import { describe, expect, test } from 'vitest'
import { checkService, pagingLaws } from '../../adapters/testing/index.ts'
import { faultyPages } from './faulty-pages.ts'
import { halService } from './hal-service.ts'
import { Pages } from './pages.ts'
import { rejects } from './rejects.ts'

describe('a paged API over an array', () => {
  for (const law of pagingLaws({ open: () => new Pages() })) test(law.name, law.run)
})

test.for(faultyPages)('"%s…" rejects an API that %s', async ([start, , Listing]) => {
  await rejects(pagingLaws({ open: () => new Listing() }), start)
})

test.each<[page: unknown, said: string]>([
  [[], 'expected a page { records: [], next, prev }'],
  [undefined, 'expected a page { records: [], next, prev }'],
  [{ records: [] }, 'next, prev and the tokens of records must be text; one is of type undefined'],
  [{ records: [7n], next: '', prev: '' }, 'next, prev and the tokens of records must be text; one is of type bigint'],
])('laws say plainly that %o is no page', async (page, said) => {
  const open = () => ({ page: () => page as never, token: (record: unknown) => record as string })
  const told: string[] = []
  for (const { run } of pagingLaws({ open })) await run().catch(({ message }: Error) => told.push(message))
  expect(told.length).toBeGreaterThan(5)
  for (const message of told) expect(message).toContain(said)
})

test('every law of paging rejects some API', () => {
  const laws = pagingLaws({ open: () => new Pages() })
  const proven = faultyPages.map(([start]) => start)
  expect(laws.filter(({ name }) => !proven.some((start) => name.startsWith(start)))).toEqual([])
})

describe('over HTTP, while it grows', () => {
  test('a right API passes', async () => {
    const { broken, listings } = await checkService('http://service.example', { fetch: halService(new Pages(), { growEvery: 40 }) })
    expect({ broken, urls: listings.map(({ url }) => url) }).toEqual({ broken: 0, urls: ['http://service.example/rows'] })
  })

  test.for(faultyPages.filter(([, , , ofOneSource]) => !ofOneSource))('an API that %$ is rejected: %s…, %s', async ([, , Listing]) => {
    const report = await checkService('http://service.example', { fetch: halService(new Listing(), { growEvery: 40 }) })
    expect(report.broken).toBeGreaterThan(0)
  })
})
