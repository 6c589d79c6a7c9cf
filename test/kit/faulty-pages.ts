/** Paged APIs that each break one law: what they do, and the law that rejects them. */
import type { PagedPage } from '../../adapters/testing/index.ts'
import type { Order } from '../../src/index.ts'
import { byNumbers, Ending, Pages, type Row } from './pages.ts'

const [JOINED, RISE, LIMITS, REVERSED, RESUMES, BACK, BETWEEN, EMPTY, STAYS] = [
  'next pages, joined',
  'tokens rise',
  'any limit splits',
  'descending is ascending',
  'every token resumes',
  'prev leads back',
  'a cursor between',
  'an empty page links',
  'a page stays',
] as const

type Fault = readonly [law: string, fault: string, Listing: new () => Pages, ofOneSource?: true]

/** Changes the links of each page. */
const linked = (
  change: (links: { next: string; prev: string }, records: readonly Row[], cursor: string, order: Order) => object,
): (new () => Pages) =>
  class extends Pages {
    override links(records: readonly Row[], cursor: string, order: Order): { next: string; prev: string } {
      const links = super.links(records, cursor, order)
      return { ...links, ...change(links, records, cursor, order) }
    }
  }

/** Changes what lies ahead of a cursor. */
const ahead = (change: (rows: Row[], cursor: string, order: Order, limit: number, pages: Pages) => Row[]): (new () => Pages) =>
  class extends Pages {
    override ahead(cursor: string, order: Order, limit: number): Row[] {
      return change(super.ahead(cursor, order, limit), cursor, order, limit, this)
    }
  }

/** More rows than a page of the largest limit, and as many again behind the window that is looked at. */
export class Many extends Pages {
  override rows: Row[] = Array.from({ length: 250 }, (_, n) => ({ token: `${1000 + 7 * n}-0`, text: `record ${n}` }))

  override listed(order: Order): Row[] {
    return order === 'asc' ? this.rows : [...this.rows].reverse()
  }
}

/** Remembers some pages for good. */
const keeping = (when: (page: PagedPage<Row>, cursor: string, order: Order, limit: number) => boolean): (new () => Pages) =>
  class extends Pages {
    private readonly kept = new Map<string, PagedPage<Row>>()
    override page(cursor: string, order: Order, limit: number): PagedPage<Row> {
      const name = [cursor, order, limit].join()
      const page = this.kept.get(name) ?? super.page(cursor, order, limit)
      if (when(page, cursor, order, limit)) this.kept.set(name, page)
      return page
    }
  }

const isRow = (pages: Pages, cursor: string): boolean => cursor === '' || pages.rows.some(({ token }) => token === cursor)
const idOf = (token: string): string => token.split('-')[0]!

/** `ofOneSource` marks faults that only another source of the records reveals, since all pages agree with each other. */
export const faultyPages: readonly Fault[] = [
  [JOINED, 'leaves the same record out of every page', ahead((rows) => rows.filter(({ token }) => token !== '10-2')), true],
  [
    JOINED,
    'holds no more than the first 30 records',
    ahead((rows, _cursor, _order, _limit, pages) => rows.filter((one) => pages.rows.indexOf(one) < 30)),
    true,
  ],
  [
    JOINED,
    'gives one record more than asked for',
    class extends Pages {
      override page(cursor: string, order: Order, limit: number): PagedPage<Row> {
        return super.page(cursor, order, limit + 1)
      }
    },
  ],
  [
    JOINED,
    'starts over after the end',
    ahead((rows, cursor, order, _limit, pages) => (rows.length > 0 || cursor === '' ? rows : pages.listed(order))),
  ],
  [
    JOINED,
    'gives the last page again and again',
    ahead((rows, _cursor, order, limit, pages) => (rows.length > 0 ? rows : pages.listed(order).slice(-limit))),
  ],
  [
    JOINED,
    'loses the record at the border of two pages of 10',
    ahead((rows, cursor, _order, limit) => (cursor !== '' && limit === 10 ? rows.slice(1) : rows)),
  ],
  [
    RISE,
    'sorts tokens as text, so that 10 comes before 9',
    class extends Pages {
      override compare(a: string, b: string): number {
        return a < b ? -1 : a > b ? 1 : 0
      }
    },
    true,
  ],
  [
    RISE,
    'gives two records the same token',
    class extends Pages {
      override rows: Row[] = new Pages().rows.map((one) => ({ ...one, token: one.token === '99-2' ? '99-0' : one.token }))
    },
  ],
  [LIMITS, 'skips a record if the limit is 1', ahead((rows, _cursor, _order, limit) => (limit === 1 ? rows.slice(1) : rows))],
  [
    LIMITS,
    'rounds its cursor down to whole pages',
    ahead((_rows, cursor, order, limit, pages) => {
      const all = pages.listed(order)
      const at = cursor === '' ? 0 : all.findIndex(({ token }) => token === cursor) + 1
      return all.slice(Math.floor(at / limit) * limit)
    }),
  ],
  [
    LIMITS,
    'moves its cursor by the limit, whatever the page held',
    class extends Pages {
      override page(cursor: string, order: Order, limit: number): PagedPage<Row> {
        const rows = this.ahead(cursor, order, limit)
        const page = super.page(cursor, order, Math.min(limit, 5))
        return { ...page, next: rows[limit - 1]?.token ?? rows.at(-1)?.token ?? cursor }
      }
    },
  ],
  [
    REVERSED,
    'reverses pages in descending order, but not the records within them',
    class extends Pages {
      override page(cursor: string, order: Order, limit: number): PagedPage<Row> {
        const page = super.page(cursor, order, limit)
        return order === 'asc' ? page : { ...page, records: [...page.records].reverse() }
      }
    },
  ],
  [
    REVERSED,
    'leaves out the newest record in descending order',
    ahead((rows, cursor, order) => (order === 'desc' && cursor === '' ? rows.slice(1) : rows)),
  ],
  [
    REVERSED,
    'reverses ids in descending order, but not the records of an id',
    class extends Pages {
      override listed(order: Order): Row[] {
        const rows = super.listed('asc')
        if (order === 'asc') return rows
        return rows.sort((a, b) => byNumbers(`${idOf(b.token)}-0`, `${idOf(a.token)}-0`))
      }
    },
  ],
  [
    REVERSED,
    'ignores the order',
    ahead((_rows, cursor, _order, _limit, pages) =>
      pages.listed('asc').filter(({ token }) => cursor === '' || byNumbers(token, cursor) > 0),
    ),
  ],
  [
    RESUMES,
    'gives the record of the cursor again in descending order',
    ahead((rows, cursor, order, _limit, pages) =>
      order === 'desc' && cursor !== '' ? [...pages.rows.filter(({ token }) => token === cursor), ...rows] : rows,
    ),
  ],
  [
    RESUMES,
    'reads its cursor as a double',
    class extends Pages {
      override ahead(cursor: string, order: Order, limit: number): Row[] {
        const [id, index] = cursor.split('-')
        return super.ahead(cursor === '' ? cursor : `${BigInt(Number(id))}-${index}`, order, limit)
      }
    },
  ],
  [
    RESUMES,
    'resumes after all records of an id',
    ahead((rows, cursor) => rows.filter(({ token }) => cursor === '' || idOf(token) !== idOf(cursor))),
  ],
  [
    RESUMES,
    'compares the second number of its cursor as text',
    ahead((rows, cursor, order, _limit, pages) =>
      cursor === ''
        ? rows
        : pages.listed(order).filter(({ token }) => {
            const [[id, index], [at, from]] = [token.split('-'), cursor.split('-')]
            const isPast = id === at ? (order === 'asc' ? index! > from! : index! < from!) : rows.some((one) => one.token === token)
            return isPast
          }),
    ),
  ],
  [
    RESUMES,
    'resumes one record too late if the limit is 7',
    ahead((rows, cursor, _order, limit) => (cursor !== '' && limit === 7 ? rows.slice(1) : rows)),
  ],
  [
    RESUMES,
    'remembers the order of the first request',
    class extends Pages {
      private first: Order | undefined
      override ahead(cursor: string, order: Order, limit: number): Row[] {
        this.first ??= order
        return super.ahead(cursor, cursor === '' ? order : this.first, limit)
      }
    },
  ],
  [BACK, 'leads back from the last record of a page', linked(({ next }) => ({ prev: next }))],
  [BACK, 'leads back to the beginning', linked((_links, records, cursor) => ({ prev: records.length > 0 ? '' : cursor }))],
  [
    BACK,
    'leads back to its own first record',
    linked((_links, records, cursor, order) => {
      const [id, index] = records[0]?.token.split('-') ?? []
      if (id === undefined) return { prev: cursor }
      return {
        prev: order === 'asc' ? `${id}-${Number(index) + 1}` : index === '0' ? `${BigInt(id) - 1n}-9999` : `${id}-${Number(index) - 1}`,
      }
    }),
  ],
  [BACK, 'leads back from its cursor instead of its first record', linked((_links, _records, cursor) => ({ prev: cursor }))],
  [
    BETWEEN,
    'starts over at a cursor that is no record',
    ahead((rows, cursor, order, _limit, pages) => (isRow(pages, cursor) ? rows : pages.listed(order))),
  ],
  [
    BETWEEN,
    'gives nothing at a cursor that is no record',
    ahead((rows, cursor, _order, _limit, pages) => (isRow(pages, cursor) ? rows : [])),
  ],
  [
    BETWEEN,
    'skips a record at a cursor that is no record',
    ahead((rows, cursor, _order, _limit, pages) => (isRow(pages, cursor) ? rows : rows.slice(1))),
  ],
  [
    BETWEEN,
    'resumes at the record before a cursor that is no record',
    ahead((rows, cursor, order, _limit, pages) => {
      if (isRow(pages, cursor)) return rows
      const all = pages.listed(order)
      return all.slice(Math.max(0, all.length - rows.length - 1))
    }),
  ],
  [EMPTY, 'links to the beginning from an empty page', linked((_links, records) => (records.length > 0 ? {} : { next: '' }))],
  [EMPTY, 'leads back from an empty page to the beginning', linked((_links, records) => (records.length > 0 ? {} : { prev: '' }))],
  [
    STAYS,
    'puts newer records between older ones',
    class extends Pages {
      override grow(): void {
        super.grow()
        const newest = this.rows.pop()!
        this.rows.splice(5, 0, { ...newest, token: `9-${this.rows.length}` })
      }
    },
  ],
  [
    STAYS,
    'puts newer records before all others',
    class extends Pages {
      override grow(): void {
        this.rows = [{ token: `7-${1000 - this.rows.length}`, text: 'new' }, ...this.rows]
      }
    },
  ],
  [
    STAYS,
    'gives pages from a cache, so that newer records never show',
    class extends Pages {
      private readonly held = new Map<string, PagedPage<Row>>()
      override page(cursor: string, order: Order, limit: number): PagedPage<Row> {
        const key = `${cursor} ${order} ${limit}`
        const page = this.held.get(key) ?? super.page(cursor, order, limit)
        this.held.set(key, page)
        return page
      }
    },
    true,
  ],
  [
    LIMITS,
    'skips a record behind a page of the largest limit',
    class extends Many {
      override links(records: readonly Row[], cursor: string, order: Order): { next: string; prev: string } {
        const links = super.links(records, cursor, order)
        return records.length === 200 ? { ...links, next: this.ahead(links.next, order, 1)[0]?.token ?? links.next } : links
      }
    },
  ],
  [
    BACK,
    'leads back from its first page to that page',
    linked(({ prev }, records, cursor, order) => ({ prev: cursor === '' && order === 'asc' ? (records.at(-1)?.token ?? prev) : prev })),
  ],
  [
    BETWEEN,
    'gives nothing at a cursor before the first record',
    ahead((rows, cursor, order, _limit, pages) =>
      order === 'asc' && cursor !== '' && byNumbers(cursor, pages.rows[0]!.token) < 0 ? [] : rows,
    ),
  ],
  [
    BETWEEN,
    'gives nothing, descending, at a cursor behind the last record',
    ahead((rows, cursor, order, _limit, pages) =>
      order === 'desc' && cursor !== '' && byNumbers(cursor, pages.rows.at(-1)!.token) > 0 ? [] : rows,
    ),
  ],
  [
    STAYS,
    'leads from its last page to wherever the end will be',
    class extends Pages {
      override page(cursor: string, order: Order, limit: number): PagedPage<Row> {
        if (cursor === '9999999999999999999-0' && order === 'asc') return { records: [], next: cursor, prev: cursor }
        const page = super.page(cursor, order, limit)
        const isLast = order === 'asc' && page.records.length > 0 && page.records.length < limit
        return isLast ? { ...page, next: '9999999999999999999-0' } : page
      }
    },
  ],
  [
    STAYS,
    'gives pages that are not full from a cache',
    keeping(({ records }, _cursor, order, limit) => order === 'asc' && records.length < limit),
  ],
  [STAYS, 'gives the newest page, descending, from a cache', keeping((_page, cursor, order) => order === 'desc' && cursor === '')],
  [
    STAYS,
    'counts its cursors from the newest record',
    class extends Pages {
      private readonly places = new Map<string, number>()
      override ahead(cursor: string, order: Order, limit: number): Row[] {
        const rows = super.ahead(cursor, order, limit)
        if (order === 'asc' || cursor === '') return rows
        const all = this.listed('desc')
        const place = this.places.get(cursor) ?? all.length - rows.length
        this.places.set(cursor, place)
        return all.slice(place)
      }
    },
  ],
  [
    STAYS,
    'changes records that it gave before',
    class extends Pages {
      override grow(): void {
        super.grow()
        const [oldest, ...rest] = this.rows
        this.rows = [{ ...oldest!, text: `${oldest!.text}, of ${this.rows.length}` }, ...rest]
      }
    },
  ],
  [
    STAYS,
    'edits records in place that it gave before',
    class extends Pages {
      override grow(): void {
        super.grow()
        Object.assign(this.rows[0]!, { text: `${this.rows[0]!.text}, of ${this.rows.length}` })
      }
    },
  ],
  [
    STAYS,
    'forgets its oldest record for every newer one',
    class extends Pages {
      override grow(): void {
        super.grow()
        this.rows.shift()
      }
    },
  ],
  [
    LIMITS,
    'says one record too early that nothing follows',
    class extends Ending {
      override isEnd(cursor: string, order: Order): boolean {
        return this.ahead(cursor, order, 2).length < 2
      }
    },
  ],
  [
    RESUMES,
    'says that nothing follows a page of 3 records',
    class extends Ending {
      override isEnd(cursor: string, order: Order, limit: number, records: readonly Row[]): boolean {
        return limit === 3 || super.isEnd(cursor, order, limit, records)
      }
    },
  ],
  [
    BACK,
    'says that nothing comes before a page that is not full',
    class extends Ending {
      override isStart(cursor: string, order: Order, limit: number, records: readonly Row[]): boolean {
        return records.length < limit || super.isStart(cursor, order, limit, records)
      }
    },
  ],
  [
    EMPTY,
    'says that nothing follows its last page, but not if that is full',
    class extends Ending {
      override isEnd(_cursor: string, _order: Order, limit: number, records: readonly Row[]): boolean {
        return records.length < limit
      }
    },
  ],
  [
    EMPTY,
    'says that nothing follows its last page, but not if that is empty',
    class extends Ending {
      override isEnd(cursor: string, order: Order, limit: number, records: readonly Row[]): boolean {
        return records.length > 0 && super.isEnd(cursor, order, limit, records)
      }
    },
  ],
  [
    EMPTY,
    'says that nothing comes before its first page, but not if that holds a single record',
    class extends Ending {
      override isStart(cursor: string, order: Order, limit: number, records: readonly Row[]): boolean {
        return limit > 1 && super.isStart(cursor, order, limit, records)
      }
    },
  ],
  [
    STAYS,
    'remembers that nothing followed a page',
    class extends Ending {
      private readonly ends = new Set<string>()
      override isEnd(cursor: string, order: Order, limit: number, records: readonly Row[]): boolean {
        if (super.isEnd(cursor, order, limit, records)) this.ends.add(cursor + order)
        return this.ends.has(cursor + order)
      }
    },
  ],
]
