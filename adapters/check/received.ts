/**
 * A listing in process as the laws of paging see it: a call that fails or is never answered is named, and records are what they were when they came,
 * whatever their API does with them afterwards.
 */
import type { MaybePromise } from '../../src/index.ts'
import { unanswered } from './law.ts'
import { type PagedListing, type PagedPage, Received } from './paged.ts'
import { asked } from './window.ts'

/** The answer of a call. @throws Error that names the call, if it fails, or is not answered in time */
export async function answerOf<T>(call: () => string, patience: number, ask: () => MaybePromise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(unanswered(call, patience)), patience)
  })
  const answer = (async () => ask())().catch((error) => {
    throw new Error(`${call()}: expected an answer; it failed with ${error}`, { cause: error })
  })
  return Promise.race([answer, late]).finally(() => clearTimeout(timer))
}

/** @param listing one that was checked */
export function receiving<R>(listing: PagedListing<R>, patience: number): PagedListing<Received> {
  const receive = (record: R): Received => new Received(record, listing.token(record))
  const receiveAll = (records: readonly R[]): readonly Received[] => {
    if (!Array.isArray(records)) throw new Error('it gave no array')
    return records.map(receive)
  }
  return {
    ...{ maxLimit: listing.maxLimit, live: listing.live },
    token: ({ token }) => token,
    ...(listing.ask && { ask: (...request) => listing.ask!(...request) }),
    ...(listing.between && { between: (...tokens) => listing.between!(...tokens) }),
    page: (...request) =>
      answerOf(
        () => asked(listing, ...request),
        patience,
        async () => {
          const page = await listing.page(...request)
          if (!Array.isArray(page?.records)) return page as unknown as PagedPage<Received>
          return { records: receiveAll(page.records), next: page.next, prev: page.prev, faults: page.faults }
        },
      ),
    ...(listing.records && {
      records: () =>
        answerOf(
          () => 'records()',
          patience,
          async () => receiveAll(await listing.records!()),
        ),
    }),
    ...(listing.grow && {
      grow: () =>
        answerOf(
          () => 'grow()',
          patience,
          () => listing.grow!(),
        ),
    }),
  }
}
