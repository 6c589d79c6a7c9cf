/** What a page costs and why: for tuning, and for tests that hold every query to a budget. */

import { pathNames } from '../params.ts'
import type { Listing } from './listing.ts'
import { type PageOptions, readPage } from './page.ts'
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
  /** Records in the log from which the page was taken. */
  readonly logRecords: number
}

/** Reads a page and reports what that took. The reader must be fresh. */
export function explainPage(reader: Reader, listing: Listing, options: PageOptions): Explanation {
  const { count } = readPage(reader, listing, options)
  const { query, picked } = listing
  const reads: string[] = []
  const own = query.by?.column
  const isLog = query.of.kept === 'log'
  if (!isLog) reads.push('scan of the book')
  for (const { index } of picked.lists) reads.push(`list ${index.name} of ${query.of.name}`)
  if (reads.length === 0) reads.push(`log of ${query.of.name}`)
  for (const name of pathNames(query.path)) if (name !== own && isLog) reads.push(`within ${name}`)
  return { path: query.path, reads, records: count, cost: { ...reader.stats }, logRecords: reader.head.counts[query.of.tag]! }
}
