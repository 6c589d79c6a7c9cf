/** The laws of paging: a correct API passes and faulty ones are rejected, also over HTTP. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { textOf } from '../../adapters/check/index.ts'
import { checkService, type PagedListing, type PagedPage, pagingLaws, storeConformance, streamLaws } from '../../adapters/testing/index.ts'
import type { Order } from '../../src/index.ts'
import { faultyPages, Many } from './faulty-pages.ts'
import { halService } from './hal-service.ts'
import { Ending, Pages, type Row } from './pages.ts'
import { rejects } from './rejects.ts'

describe('a paged API over an array', () => {
  for (const law of pagingLaws({ open: () => new Pages() })) test(law.name, law.run)
})

/** Has no cursor back from its first page, nor any links on a page that holds nothing. */
class Plain extends Ending {
  override page(cursor: string, order: Order, limit: number): PagedPage<Row> {
    const { records, next, prev } = super.page(cursor, order, limit)
    return { records, ...(records.length > 0 && next && { next }), ...(records.length > 0 && cursor !== '' && prev && { prev }) }
  }
}

/** Says that nothing follows on empty pages alone. */
class Late extends Pages {
  override page(cursor: string, order: Order, limit: number): PagedPage<Row> {
    const page = super.page(cursor, order, limit)
    return page.records.length > 0 ? page : { records: [] }
  }
}

describe.each([
  ['leaves out the links that lead to nothing', Ending],
  ['has no more links than it must', Plain],
  ['says on empty pages alone that nothing follows', Late],
])('a paged API that %s', (_, Listing) => {
  for (const law of pagingLaws({ open: () => new Listing() })) test(law.name, law.run)

  test.for([1, 2, 3, 250])('with %i records', async (count) => {
    const open = () => Object.assign(new Listing(), { rows: new Many().rows.slice(0, count) })
    for (const { run } of pagingLaws({ open, cases: 100 })) await run()
  })

  test('over HTTP, while records are added', async () => {
    for (const growEvery of [0, 3, 40]) {
      const { broken, unchecked, listings } = await checkService('http://service.example', {
        fetch: halService(new Listing(), { growEvery }),
      })
      expect({ broken, unchecked, laws: listings[0]?.laws.filter(({ outcome }) => outcome !== 'holds') }).toEqual({
        ...{ broken: 0, unchecked: 0, laws: [] },
      })
    }
  })
})

test('an end that is told only at times is found behind any number of records', async () => {
  class Loose extends Ending {
    override isEnd(cursor: string, order: Order, limit: number, records: readonly Row[]): boolean {
      return order === 'asc' && records.length < limit && super.isEnd(cursor, order, limit, records)
    }
  }
  await rejects(
    pagingLaws({ open: () => Object.assign(new Loose(), { rows: new Many().rows }) }),
    'an empty page links',
    /^page\("2736-0", "asc", 1\): it has a `next`, although nothing follows; page\("2736-0", "asc", 2\) leaves it out there$/,
  )
})

test('an API without any way back must decline one law alone', async () => {
  class Onward extends Ending {
    override isStart(): boolean {
      return true
    }
  }
  const laws = pagingLaws({ open: () => new Onward(), declined: { 'prev leads back': 'there is no way back' } })
  for (const { skip, run } of laws) if (skip === undefined) await run()
  await rejects(laws, 'prev leads back', /: it leaves out `prev`, as if nothing came before, and there is /)
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
  [{ records: [], next: 5 }, 'next, prev and the tokens of records must be text; one is of type number'],
  [{ records: [7n], next: '', prev: '' }, 'next, prev and the tokens of records must be text; one is of type bigint'],
])('laws say plainly that %o is not a page', async (page, said) => {
  const open = () => ({ page: () => page as never, token: (record: unknown) => record as string })
  const told: string[] = []
  for (const { run } of pagingLaws({ open })) await run().catch(({ message }: Error) => told.push(message))
  expect(told.length).toBeGreaterThan(5)
  for (const message of told) expect(message).toContain(said)
})

describe('a call of a listing that', () => {
  const never = (): Promise<never> => new Promise(() => {})
  const fail = (): never => {
    throw new Error('no disk')
  }
  const said = async (change: object, patience = 30): Promise<Set<string>> => {
    const told = new Set<string>()
    for (const { run } of pagingLaws({ open: () => Object.assign(new Pages(), change), patience, cases: 30 }))
      await run().catch(({ message }: Error) => told.add(message))
    return told
  }
  const page = (answer: () => unknown) => ({
    page(this: Pages, ...asked: Parameters<Pages['page']>) {
      return asked[0] === '10-2' ? answer() : Pages.prototype.page.apply(this, asked)
    },
  })

  test.each<[what: string, change: object, call: RegExp]>([
    ['throws', page(fail), /^page\("10-2", "(?:asc|desc)", \d+\): expected an answer; it failed with Error: no disk$/],
    ['rejects', page(async () => fail()), /^page\("10-2", "(?:asc|desc)", \d+\): expected an answer; it failed with Error: no disk$/],
    ['is never answered', page(never), /^page\("10-2", "(?:asc|desc)", \d+\): expected an answer; none came within 0.03 s$/],
    ['fails to give all records', { records: fail }, /^records\(\): expected an answer; it failed with Error: no disk$/],
    ['never grows', { grow: never }, /^grow\(\): expected an answer; none came within 0.03 s$/],
    ['is named by itself', { ...page(fail), ask: (cursor: string) => `GET ${cursor}` }, /^GET 10-2: expected an answer; it failed with/],
  ])('%s is named', async (_, change, call) => {
    const told = [...(await said(change))]
    expect(told.length).toBeGreaterThan(0)
    for (const message of told) expect(message).toMatch(call)
  })

  test('opens it, and fails or never does, is named', async () => {
    for (const [open, message] of [
      [fail, 'open(): expected an answer; it failed with Error: no disk'],
      [never, 'open(): expected an answer; none came within 0.03 s'],
    ] as const)
      for (const { run } of pagingLaws({ open, patience: 30 })) await expect(run()).rejects.toThrow(message)
  })
})

test.each<[kind: string, value: (n: number) => unknown, shown: RegExp]>([
  ['a date', (n) => new Date(n), /"at":Date\(1970-01-01T00:00:00.001Z\)/],
  ['a map', (n) => new Map([['n', n]]), /"at":Map\("n":1\)/],
  ['a set', (n) => new Set([n, 0]), /"at":Set\(0,1\)/],
  ['a URL', (n) => new URL(`http://a.example/${n}`), /"at":URL\(http:\/\/a.example\/1\)/],
])('%s in a record is compared by its value', async (_, value, shown) => {
  const listing = (changed: number): PagedListing => {
    const pages = new Pages()
    return {
      page: (...asked) => {
        const { records, ...links } = pages.page(...asked)
        return { ...links, records: records.map((one) => ({ ...one, at: value(asked[2] === 7 ? changed : 0) })) }
      },
      token: (record) => pages.token(record as never),
    }
  }
  for (const { run } of pagingLaws({ open: () => listing(0), cases: 50 })) await run()
  await rejects(
    pagingLaws({ open: () => listing(1) }),
    'any limit splits',
    new RegExp(`^the walk by pages of 7: 8-0 is .*${shown.source}.*, and was `),
  )
})

test('members of maps and sets may come in any order', () => {
  const [one, other] = [
    [1, { a: 1 }],
    [2, { b: 2 }],
  ]
  expect(textOf({ map: new Map([one, other] as never), set: new Set([one, other]) })).toBe(
    textOf({ set: new Set([other, one]), map: new Map([other, one] as never) }),
  )
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
    for (const patience of [0, '5', 2 ** 31]) expect(() => pagingLaws({ open, patience } as never)).toThrow(refuse('patience'))
    expect(() => streamLaws({ open, runs: 0 })).toThrow(refuse('runs'))
    expect(() => streamLaws({ open, patience: '5' as never })).toThrow(refuse('patience'))
    for (const member of ['reopen', 'beside', 'fail', 'held', 'capabilities', 'declined'])
      expect(() => storeConformance({ open, [member]: 'x' } as never)).toThrow(refuse(member))
    for (const laws of [pagingLaws, streamLaws]) expect(() => laws({ open, declined: null } as never)).toThrow(refuse('declined'))
    const counts = ['listings', 'window', 'maxLimit', 'requests'].map((name) => [name, 0])
    for (const [name, value] of [...counts, ['ms', '60'], ['onListing', 5], ['signal', {}], ['fetch', 'x'], ['headers', 'x']] as const)
      await expect(checkService('http://service.example', { [name!]: value })).rejects.toThrow(refuse(name as string))
    await expect(checkService('http://service.example', { request: 5 } as object)).rejects.toThrow(refuse('request'))
    for (const declined of [null, { 'no such law': 'why' }, { 'any limit splits': ' ' }])
      await expect(checkService('http://service.example', { declined } as never)).rejects.toThrow(refuse('declined'))
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
