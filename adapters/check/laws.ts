/** The algebra of paging as laws over a listing at hand. */
import type { MaybePromise } from '../../src/index.ts'
import { type PagingOptions, pagingAlgebra } from './algebra.ts'
import { type Declined, decline, type Law } from './law.ts'
import type { PagedListing } from './paged.ts'

export interface PagingSubject<R> extends PagingOptions {
  /** A listing, on its own each time where it has `grow`. */
  open(): MaybePromise<PagedListing<R>>
  /** Laws that this API does not keep, by the beginning of their names that no other law shares, each with the reason. */
  readonly declined?: Declined
}

/**
 * The laws of paging, for any API that gives a page for a cursor, an order and a limit.
 *
 * What cannot be checked on a listing holds: cursors between records where none are known, growth without `grow`, anything of an empty one.
 * @example for (const law of pagingLaws({ open: () => ({ page, token: (record) => record.id }) })) test(law.name, law.run)
 */
export function pagingLaws<R>({ open, declined, window = 100, cases = 1000 }: PagingSubject<R>): Law[] {
  const laws = pagingAlgebra.map(
    ({ name, check }): Law => ({
      name,
      run: async () => {
        await check(await open(), { window, cases })
      },
    }),
  )
  return decline(laws, declined)
}
