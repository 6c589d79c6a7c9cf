/** The simplest paged API over an array that keeps the laws. Faulty APIs replace its parts. */
import type { PagedListing, PagedPage } from '../../adapters/testing/index.ts'
import type { Order } from '../../src/index.ts'

export interface Row {
  readonly token: string
  readonly text: string
}

const numbers = (token: string): bigint[] => token.split('-').map(BigInt)

export const byNumbers = (a: string, b: string): number => {
  const [[idA, indexA], [idB, indexB]] = [numbers(a), numbers(b)] as [[bigint, bigint], [bigint, bigint]]
  return idA !== idB ? (idA < idB ? -1 : 1) : Number(indexA - indexB)
}

/** Ids around which a digit is added or doubles lose exactness; each has some records. */
const ids = [8n, 9n, 10n, 11n, 98n, 99n, 100n, 101n, 4096n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 53n + 2n, 2n ** 60n]

export class Pages implements PagedListing<Row> {
  rows: Row[] = ids.flatMap((id, n) => Array.from({ length: 1 + ((n * 5) % 7) }, (_, at) => row(id, at * 2)))
  private grown = 0

  records(): readonly Row[] {
    return this.rows
  }

  token(one: Row): string {
    return one.token
  }

  grow(): void {
    const id = 2n ** 60n + BigInt(++this.grown) * 4096n
    this.rows = [...this.rows, row(id, 0), row(id, 1), row(id + 1n, 0)]
  }

  /** Below zero if `a` comes before `b`. */
  compare(a: string, b: string): number {
    return byNumbers(a, b)
  }

  listed(order: Order): Row[] {
    const rows = [...this.rows].sort((a, b) => this.compare(a.token, b.token))
    return order === 'asc' ? rows : rows.reverse()
  }

  ahead(cursor: string, order: Order, _limit: number): Row[] {
    const way = order === 'asc' ? 1 : -1
    return this.listed(order).filter(({ token }) => cursor === '' || this.compare(token, cursor) * way > 0)
  }

  page(cursor: string, order: Order, limit: number): PagedPage<Row> {
    const records = this.ahead(cursor, order, limit).slice(0, limit)
    return { records, ...this.links(records, cursor, order) }
  }

  links(records: readonly Row[], cursor: string, _order: Order): { next: string; prev: string } {
    return { next: records.at(-1)?.token ?? cursor, prev: records[0]?.token ?? cursor }
  }
}

/** Leaves out the links that lead to nothing. */
export class Ending extends Pages {
  /** Whether nothing follows a cursor. */
  isEnd(cursor: string, order: Order, _limit: number, _records: readonly Row[]): boolean {
    return this.ahead(cursor, order, 1).length === 0
  }

  isStart(cursor: string, order: Order, _limit: number, _records: readonly Row[]): boolean {
    return this.ahead(cursor, order === 'asc' ? 'desc' : 'asc', 1).length === 0
  }

  override page(cursor: string, order: Order, limit: number): PagedPage<Row> {
    const records = this.ahead(cursor, order, limit).slice(0, limit)
    const { next, prev } = this.links(records, cursor, order)
    return {
      records,
      next: this.isEnd(next, order, limit, records) ? null : next,
      ...(!this.isStart(prev, order, limit, records) && { prev }),
    }
  }
}

const row = (id: bigint, index: number): Row => ({ token: `${id}-${index}`, text: `record ${index} of ${id}` })
