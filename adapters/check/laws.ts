/** The algebra of paging as laws over a listing at hand. */
import type { MaybePromise } from '../../src/index.ts'
import { type PagingOptions, pagingAlgebra } from './algebra.ts'
import { checkSubject, type Declined, decline, type Law, tellSkipped } from './law.ts'
import type { PagedListing } from './paged.ts'

export interface PagingSubject<R> extends PagingOptions {
  /** A listing, on its own each time where it has `grow`. */
  open(): MaybePromise<PagedListing<R>>
  /** Laws that this API does not keep, by the beginning of their names that no other law shares, each with the reason. */
  readonly declined?: Declined | undefined
}

const NAMES = ['open', 'window', 'cases', 'declined'] as const

/**
 * The laws of paging, for any API that gives a page for a cursor, an order and a limit.
 *
 * What cannot be checked on a listing tells the runner to skip it, as laws of stores do, and else holds: cursors between records where none are
 * known, the order of tokens that are no numbers, growth without `grow`, anything of an empty one.
 * @throws BAD_REQUEST for a member that is none, or out of bounds
 * @example for (const law of pagingLaws({ open: () => ({ page, token: (record) => record.id }) })) test(law.name, law.run)
 */
export function pagingLaws<R>(subject: PagingSubject<R>): Law[] {
  const { open, declined, window = 100, cases = 1000 } = checkSubject(subject, 'pagingLaws', NAMES, ['window', 'cases'])
  const laws = pagingAlgebra.map(
    ({ name, check }): Law => ({
      name,
      run: async (...[context]: readonly unknown[]) => {
        const unchecked = await check(await open(), { window, cases })
        if (unchecked !== undefined) tellSkipped(context, unchecked)
      },
    }),
  )
  return decline(laws, declined)
}
