/** The laws of paging: a correct API passes and faulty ones are rejected, also over HTTP. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { checkService, type PagedListing, pagingLaws, storeConformance, streamLaws } from '../../adapters/testing/index.ts'
import type { Order } from '../../src/index.ts'
import { faultyPages, Many } from './faulty-pages.ts'
import { halService } from './hal-service.ts'
import { Pages } from './pages.ts'
import { rejects } from './rejects.ts'

describe('a paged API over an array', () => {
  for (const law of pagingLaws({ open: () => new Pages() })) test(law.name, law.run)
})

test.for(faultyPages)('"%s…" rejects an API that %s', async ([start, , Listing]) => {
  await rejects(pagingLaws({ open: () => new Listing() }), start)
})

test('an API that gives a record too few if the limit is the largest is rejected, unless it says so', async () => {
  class Short extends Many {
    override page(cursor: string, order: Order, limit: number) {
      return super.page(cursor, order, Math.min(limit, 199))
    }
  }
  await rejects(
    pagingLaws({ open: () => new Short() }),
    'any limit splits',
    /^page\(.*, 200\): 199 records, although the next page has 10 more$/,
  )
  for (const law of pagingLaws({ open: () => Object.assign(new Short(), { maxLimit: 199 }), cases: 50 })) await law.run()
})

test('an API that mixes up pages that are requested at once is rejected', async () => {
  class Mixed extends Pages {
    private asked: Parameters<Pages['page']> = ['', 'asc', 1]
    // @ts-expect-error: any listing may answer late.
    override async page(...asked: Parameters<Pages['page']>) {
      this.asked = asked
      await Promise.resolve()
      return super.page(...this.asked)
    }
  }
  await rejects(pagingLaws({ open: () => new Mixed() as never }), 'every token resumes', /^page\(.*\): /)
})

test.each<[page: unknown, said: string]>([
  [[], 'expected a page { records: [], next, prev }'],
  [undefined, 'expected a page { records: [], next, prev }'],
  [{ records: [] }, 'next, prev and the tokens of records must be text; one is of type undefined'],
  [{ records: [7n], next: '', prev: '' }, 'next, prev and the tokens of records must be text; one is of type bigint'],
])('laws say plainly that %o is not a page', async (page, said) => {
  const open = () => ({ page: () => page as never, token: (record: unknown) => record as string })
  const told: string[] = []
  for (const { run } of pagingLaws({ open })) await run().catch(({ message }: Error) => told.push(message))
  expect(told.length).toBeGreaterThan(5)
  for (const message of told) expect(message).toContain(said)
})

test('a law that a listing gives no chance to check is skipped with the reason, if the runner supports that', async () => {
  const skipped = async (listing: PagedListing): Promise<string[]> => {
    const reasons: string[] = []
    for (const { run } of pagingLaws({ open: () => listing }))
      await (run as (context: object) => Promise<void>)({ skip: (reason: string) => reasons.push(reason) })
    return reasons
  }
  const empty: PagedListing = { page: (cursor) => ({ records: [], next: cursor, prev: cursor }), token: String }
  expect(await skipped(empty)).toEqual([
    ...Array(6).fill('the listing is empty'),
    'no cursor is known to lie between two of its records',
    'nothing is known to add records',
  ])
  const pages = new Pages()
  expect(await skipped(pages)).toEqual([])
  const named: PagedListing = {
    page: (cursor, order, limit) => {
      const { records, next, prev } = pages.page(cursor.slice(1), order, limit)
      return { records, next: next && `c${next}`, prev: prev && `c${prev}` }
    },
    token: (record) => `c${pages.token(record as never)}`,
  }
  expect(await skipped(named)).toEqual([
    'its tokens are no numbers, so their order is not known',
    'no cursor is known to lie between two of its records',
    'nothing is known to add records',
  ])
})

test('every law of paging rejects some API', () => {
  const laws = pagingLaws({ open: () => new Pages() })
  const proven = faultyPages.map(([start]) => start)
  expect(laws.filter(({ name }) => !proven.some((start) => name.startsWith(start)))).toEqual([])
})

describe('the options of laws', () => {
  const open = (): never => expect.fail()
  const refuse = (field: string): unknown => expect.objectContaining({ code: 'BAD_REQUEST', fields: expect.objectContaining({ field }) })
  afterEach(() => vi.unstubAllEnvs())

  test.each([
    [
      'an unknown member',
      [
        { open, reopn: open },
        { open, case: 5 },
        { open, run: 5 },
      ],
      ['reopn', 'case', 'run'],
    ],
    ['a missing `open`', [{}, {}, {}], ['open', 'open', 'open']],
    ['a value that is not an object', [open, open, open], ['options', 'options', 'options']],
  ])('%s is refused', (_, [store, paging, stream], [ofStore, ofPaging, ofStream]) => {
    expect(() => storeConformance(store as never)).toThrow(refuse(ofStore!))
    expect(() => pagingLaws(paging as never)).toThrow(refuse(ofPaging!))
    expect(() => streamLaws(stream as never)).toThrow(refuse(ofStream!))
  })

  test.each<[string, object | undefined]>([
    ['grwo', { grwo: () => 0 }],
    ['maxLimit', { maxLimit: 0 }],
    ['maxLimit', { maxLimit: -3 }],
    ['maxLimit', { maxLimit: '20' }],
    ['grow', { grow: 5 }],
    ['records', { records: [] }],
    ['live', { live: 'no' }],
    ['token', { token: undefined }],
  ])('a listing whose `%s` is unknown or wrong fails every law', async (field, change) => {
    const pages = new Pages()
    const listing = { page: pages.page.bind(pages), token: pages.token.bind(pages), ...change }
    for (const { run } of pagingLaws({ open: () => listing as PagedListing })) await expect(run()).rejects.toThrow(refuse(field))
  })

  test('a listing that is of a class may have members of its own, but none that are wrong', async () => {
    const own = Object.assign(new Pages(), { counted: 0 })
    for (const { run } of pagingLaws({ open: () => own })) await run()
    const wrong = Object.assign(new Pages(), { maxLimit: 0.5 })
    for (const { run } of pagingLaws({ open: () => wrong })) await expect(run()).rejects.toThrow(refuse('maxLimit'))
  })

  test('no cases, with which any law would hold, are refused', async () => {
    expect(() => pagingLaws({ open, cases: 0 })).toThrow(refuse('cases'))
    expect(() => pagingLaws({ open, window: Number.NaN })).toThrow(refuse('window'))
    expect(() => pagingLaws({ open, cases: '5' as never })).toThrow(refuse('cases'))
    expect(() => streamLaws({ open, runs: 0 })).toThrow(refuse('runs'))
    expect(() => streamLaws({ open, patience: '5' as never })).toThrow(refuse('patience'))
    for (const member of ['reopen', 'beside', 'fail', 'held', 'capabilities', 'declined'])
      expect(() => storeConformance({ open, [member]: 'x' } as never)).toThrow(refuse(member))
    for (const laws of [pagingLaws, streamLaws]) expect(() => laws({ open, declined: null } as never)).toThrow(refuse('declined'))
    const counts = ['listings', 'window', 'maxLimit', 'requests'].map((name) => [name, 0])
    for (const [name, value] of [...counts, ['ms', '60'], ['onListing', 5], ['signal', {}], ['fetch', 'x'], ['headers', 'x']] as const)
      await expect(checkService('http://service.example', { [name!]: value })).rejects.toThrow(refuse(name as string))
    await expect(checkService('http://service.example', { request: 5 } as object)).rejects.toThrow(refuse('request'))
  })

  test.each([
    ['FC_RUNS', '0'],
    ['FC_RUNS', 'many'],
    ['FC_RUNS', '-1'],
    ['FC_SEED', 'seven'],
    ['FC_SEED', '1.5'],
  ])('%s=%s fails the laws that use it', async (name, found) => {
    vi.stubEnv(name, found)
    const [law] = streamLaws({ open })
    await expect(law!.run()).rejects.toThrow(refuse(name))
  })
})

describe('over HTTP, while records are added', () => {
  test('a correct API passes', async () => {
    const { broken, listings } = await checkService('http://service.example', { fetch: halService(new Pages(), { growEvery: 40 }) })
    expect({ broken, urls: listings.map(({ url }) => url) }).toEqual({ broken: 0, urls: ['http://service.example/rows'] })
  })

  test.for(faultyPages.filter(([, , , ofOneSource]) => !ofOneSource))('case %$: "%s…" rejects an API that %s', async ([, , Listing]) => {
    const report = await checkService('http://service.example', { fetch: halService(new Listing(), { growEvery: 40 }) })
    expect(report.broken).toBeGreaterThan(0)
  })
})
