/**
 * Posting lists: each walked from page to page, its levels checked against each other, its entries tallied against what the records require. Of a
 * list, only one page is held, and the first entry of each.
 */
import { baseKey, postingKey, readPage, readPostingKey } from '../layout/keys.ts'
import { decodeEdge, FANOUT, type PostingEdge, rank, sealedPages, unreachable } from '../layout/posting.ts'
import { corrupt } from '../layout/seal.ts'
import { indexes } from '../logs.ts'
import type { Index } from '../query.ts'
import { changesByOffer } from '../resources/offer.ts'
import { ListKey } from '../scan/list-key.ts'
import type { Element } from '../tuple.ts'
import type { Context } from './context.ts'
import { NO_BASE, STRAY } from './report.ts'

export interface PostingList {
  readonly index: Index
  readonly elements: readonly Element[]
  readonly key: Uint8Array
}

const indexOf = new Map(indexes.map((index) => [index.tag, index]))

/** The list to which the key of an edge, or of a page, belongs. */
export function listOf(key: Uint8Array): PostingList | undefined {
  const { index: tag = -1, elements } = readPostingKey(key) ?? {}
  const index = indexOf.get(tag)
  // The lists of one index are looked up by offer.
  if (!index || !elements || (index === changesByOffer && typeof elements[0] !== 'bigint')) return undefined
  return { index, elements, key: postingKey(index.tag, elements) }
}

interface Walked {
  readonly edge: PostingEdge
  /** Entries below the oldest record held, and how many pages of each level went with them. */
  readonly passed: number
  readonly gone: readonly number[]
}

async function open({ reader, head }: Context, { index, elements, key }: PostingList, value: Uint8Array): Promise<Walked> {
  const edge = decodeEdge(key, value)
  if (edge.count === 0) throw corrupt(key, 'a posting list is empty')
  const since = head.since[index.of.tag]!
  const passed = since === 0 ? 0 : await reader.run((read) => rank(edge, since, read.pages(new ListKey(index, elements))))
  return { edge, passed, gone: unreachable(edge, passed) }
}

/**
 * Checks a list, starting at its edge; gives its entries, a page at a time.
 * @param onOpen called with the number of its entries that were pruned
 * @throws CORRUPT
 */
export async function* walk(
  context: Context,
  list: PostingList,
  value: Uint8Array,
  onOpen?: (passed: number) => void,
): AsyncGenerator<readonly number[], void, undefined> {
  const { index, elements, key } = list
  const of = new ListKey(index, elements)
  const { edge, passed, gone } = await open(context, list, value)
  if (index === changesByOffer) await checkBase(context, list, passed > 0)
  onOpen?.(passed)
  /** The first entries of the pages of the level below, by page number. */
  let firsts = new Map<number, number>()
  for (const [level, tail] of edge.levels.entries()) {
    const below = firsts
    firsts = new Map()
    const sealed = sealedPages(edge.count, level)
    let last = -1
    for (let number = gone[level]!; number <= sealed; number++) {
      await context.findings.step()
      const entries = number === sealed ? tail : await context.reader.run((read) => read.pages(of)(level, number))
      for (const [at, entry] of entries.entries()) {
        const named = below.get(number * FANOUT + at)
        if (!(entry > last) || (level > 0 && named !== undefined && named !== entry))
          throw corrupt(key, 'the pages of a posting list do not fit each other')
        last = entry
      }
      if (number < sealed) firsts.set(number, entries[0]!)
      if (level === 0) yield entries
    }
  }
}

/** For an offer that changed below the oldest ledger, and for no other, the last such change is kept. */
async function checkBase({ findings, store, unsure, unread }: Context, { elements }: PostingList, wanted: boolean): Promise<void> {
  const key = baseKey(elements[0] as bigint)
  const held = await store.get(key)
  if (wanted && held === undefined) {
    findings.add(key, NO_BASE)
    unsure.add(String(elements[0]))
  }
  // A change that cannot be read may have been pruned.
  if (!wanted && held !== undefined && !unread.any(changesByOffer.of.tag)) findings.add(key, STRAY)
}

/** The newest change of an offer below the oldest ledger. @throws CORRUPT */
export async function lastPruned({ reader, head }: Context, id: bigint): Promise<number | undefined> {
  const since = head.since[changesByOffer.of.tag]!
  return reader.run((read) => {
    const list = new ListKey(changesByOffer, [id])
    const [edge, page] = [read.edge(list), read.pages(list)]
    const at = rank(edge, since, page) - 1
    if (at < 0) return undefined
    const sealed = Math.floor(edge.count / FANOUT)
    const number = Math.floor(at / FANOUT)
    return (number < sealed ? page(0, number) : edge.levels[0]!)[at % FANOUT]
  })
}

/** Tells, from a sealed page's key, what is wrong with its place. Remembers the last list it was asked for, since pages come list by list. */
export function pagesOf(context: Context): (key: Uint8Array) => Promise<string | undefined> {
  const { findings, store } = context
  let known: { readonly name: string; readonly walked: Walked | undefined } | undefined
  const read = async (list: PostingList): Promise<Walked | undefined> => {
    const value = await store.get(list.key)
    if (value === undefined) findings.add(list.key, 'the edge of a posting list is missing')
    if (value === undefined || findings.isNamed(list.key)) return undefined
    return findings.tried(() => open(context, list, value))
  }
  return async (key) => {
    const list = listOf(key)
    if (list === undefined) return STRAY
    const name = list.key.join()
    if (known?.name !== name) known = { name, walked: await read(list) }
    if (known.walked === undefined) return undefined
    const { edge, gone } = known.walked
    const { level, number } = readPage(key)
    const held = level < edge.levels.length && number >= gone[level]! && number < sealedPages(edge.count, level)
    return held ? undefined : 'no posting list has this page'
  }
}
