/** The algebra of paging as laws over a given listing. */
import { type MaybePromise, OptionRules } from '../../src/index.ts'
import { type PagingOptions, pagingAlgebra } from './algebra.ts'
import { COUNT, type Declined, decline, type Law, MILLISECONDS, PATIENCE, tellSkipped } from './law.ts'
import { checkListing, type PagedListing } from './paged.ts'
import { answerOf, receiving } from './received.ts'

export interface PagingSubject<R> extends PagingOptions {
  /** A listing; if it has `grow`, one of its own each time. */
  open(): MaybePromise<PagedListing<R>>
  /** How long a call may stay unanswered, in milliseconds. Default 30,000; then the law fails, and names the call. */
  readonly patience?: number | undefined
  /** Laws that this API does not keep, each by a beginning of its name that no other law shares, with the reason. */
  readonly declined?: Declined | undefined
}

const members = new OptionRules<PagingSubject<unknown>>('pagingLaws', {
  open: { needed: 'callback' },
  window: COUNT,
  cases: COUNT,
  patience: MILLISECONDS,
  declined: 'object',
})

/**
 * The laws of paging, for any API that gives a page for a cursor, an order and a limit.
 *
 * A law that cannot be checked on a listing tells the runner to skip it, as laws of stores do, and otherwise passes: cursors between records if none
 * are known, the order of tokens that are not numbers, growth without `grow`, anything on an empty listing. A law rejects with BAD_REQUEST if a member
 * of the listing is unknown or out of range.
 * @throws BAD_REQUEST if a member of the subject is unknown or out of range
 * @example for (const law of pagingLaws({ open: () => ({ page, token: (record) => record.id }) })) test(law.name, law.run)
 */
export function pagingLaws<R>(subject: PagingSubject<R>): Law[] {
  const { open, declined, window = 100, cases = 1000, patience = PATIENCE } = members.check(subject)
  const laws = pagingAlgebra.map(
    ({ name, check }): Law => ({
      name,
      run: async (...[context]: readonly unknown[]) => {
        const listing = checkListing(await answerOf(() => 'open()', patience, open))
        const unchecked = await check(receiving(listing, patience), { window, cases })
        if (unchecked !== undefined) tellSkipped(context, unchecked)
      },
    }),
  )
  return decline(laws, declined)
}
