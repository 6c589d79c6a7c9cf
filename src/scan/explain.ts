/** What a page costs and why: for tuning, and for tests that hold every query to a budget. */

import { pathNames } from '../params.ts'
import type { Listing } from './listing.ts'
import { everything } from './locate.ts'
import { type PageOptions, pageRead } from './page.ts'
import type { Reader } from './reader.ts'
import type { ReadStats } from './requests.ts'

export interface Explanation {
  /** The catalogue path. */
  readonly path: string
  /** What is read, in words: the log or the posting lists that must all name a record, and the parent to which they are cut. */
  readonly reads: readonly string[]
  /** Records on the page. */
  readonly records: number
  /** Calls to the store, value bytes that it returned, blocks looked into, and values found in the cache. */
  readonly cost: Readonly<ReadStats>
  /** Records held of the log from which the page was taken; 0 for the book. */
  readonly logRecords: number
}

/** Reads a page and reports what that took. The reader must be fresh. @throws as {@link pageRead} */
export function explained(listing: Listing, options: PageOptions): (reader: Reader) => Explanation {
  const read = pageRead(listing, options)
  return (reader) => explain(reader, listing, read(reader).count)
}

function explain(reader: Reader, listing: Listing, records: number): Explanation {
  const { query, picked } = listing
  const reads: string[] = []
  const own = query.by?.column
  const isLog = query.of.kept === 'log'
  if (!isLog) reads.push('scan of the book')
  for (const { index } of picked.lists) reads.push(`list ${index.name} of ${query.of.name}`)
  if (reads.length === 0) reads.push(`log of ${query.of.name}`)
  for (const name of pathNames(query.path)) if (name !== own && isLog) reads.push(`within ${name}`)
  const { from, to } = everything(reader, query.of)
  const logRecords = isLog ? to - from : 0
  return { path: query.path, reads, records, cost: { ...reader.stats }, logRecords }
}
