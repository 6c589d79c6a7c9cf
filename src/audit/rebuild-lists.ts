/**
 * From the records to the posting lists that name them.
 *
 * A list of which pruning left a part begins with page 0 no more, and the pruned records that its first pages named are known nowhere else. So a list
 * whose edge is whole gets its pages in their old places: the edge says how many entries there are, and the last of them are known. Only if that does
 * not determine a damaged page, or the edge itself is at fault, is the list built anew, from all that it can still be seen to name.
 *
 * A list that is built anew would be served as whole. So while records of its log cannot be read, which it may name, it is left as it is.
 */
import { hex, same } from '../bytes.ts'
import { appendTo, edgeWrite } from '../ingest/filing.ts'
import { decodeBlock } from '../layout/block.ts'
import { baseKey, KIND, kindOfKey, pageRange, postingKey, postingPageKey } from '../layout/keys.ts'
import { decodeEdge, encodePage, FANOUT, lowerBound, PostingEdge, sealedPages, unreachable } from '../layout/posting.ts'
import { eachFiling } from '../logs.ts'
import { changesByOffer, offerChanges } from '../resources/offer.ts'
import type { Store, Write } from '../store.ts'
import { type Context, entriesOf, readable } from './context.ts'
import { listOf, type PostingList, walk } from './lists.ts'
import type { Unsure } from './rebuild.ts'
import { eachRecord } from './verify.ts'

/** A list with something at fault. */
interface Faulty {
  readonly list: PostingList
  /** The keys at fault: that of its edge, or those of pages. */
  readonly keys: Uint8Array[]
  /** What is known to be filed in it, ascending: the records that are held, after pruned ones. */
  readonly ordinals: number[]
}

/**
 * @param unsure takes the keys of the lists that are left as they are
 * @returns what makes the lists whole to which the keys belong; a key of no list is removed
 */
export async function rebuildLists(context: Context, keys: readonly Uint8Array[], unsure: Unsure): Promise<Write[]> {
  const { head } = context
  const parts: (readonly Write[])[] = []
  const lists = new Map<string, Faulty>()
  for (const key of keys) {
    const list = listOf(key)
    if (list === undefined) {
      parts.push([[key, undefined]])
      continue
    }
    const name = hex(list.key)
    const faulty = lists.get(name) ?? { list, keys: [], ordinals: await prunedOf(context, list) }
    faulty.keys.push(key)
    lists.set(name, faulty)
  }
  for await (const { resource, record, sides, ordinal } of eachRecord(context)) {
    if (ordinal >= head.filedCounts[resource.tag]!) continue
    eachFiling(resource, record, sides, (index, elements) => lists.get(hex(postingKey(index.tag, elements)))?.ordinals.push(ordinal))
  }
  for (const faulty of lists.values()) {
    const { tag } = faulty.list.index.of
    const mayLack = context.unread.any(tag, head.filedCounts[tag])
    const placed = await inPlace(context, faulty, mayLack)
    if (placed === undefined && mayLack) unsure.set(hex(faulty.list.key), faulty.list.key)
    else parts.push(placed ?? (await anew(context.store, faulty)))
  }
  return parts.flat()
}

/**
 * The pages of the list that are not as they were, and nothing in place of those that are not of it. An audit names only the first damaged page of a
 * list, so all are looked at. Undefined if the edge and the records do not determine a page that is named.
 */
async function inPlace({ head, store }: Context, { list, keys, ordinals }: Faulty, mayLack: boolean): Promise<Write[] | undefined> {
  const { index, elements } = list
  const { tag } = index.of
  if (keys.some((key) => kindOfKey(key) !== KIND.page)) return undefined
  const edge = await edgeOf(store, list)
  if (edge === undefined) return undefined
  const held = ordinals.length - lowerBound(ordinals, head.since[tag]!)
  const unknown = edge.count - ordinals.length
  // If records may be lacking, what is unknown may be anywhere in the list.
  const isKnown = !mayLack || unknown === 0
  const writes = new Map<string, Write>(keys.map((key) => [hex(key), [key, undefined]]))
  for (const [level, gone] of unreachable(edge, isKnown ? edge.count - held : 0).entries())
    for (let number = gone; number < sealedPages(edge.count, level); number++) {
      const key = postingPageKey(index.tag, elements, level, number)
      const isNamed = writes.has(hex(key))
      const entries = Array.from({ length: FANOUT }, (_, i) =>
        isKnown ? ordinals[(number * FANOUT + i) * FANOUT ** level - unknown] : undefined,
      )
      if (entries.includes(undefined)) {
        if (isNamed) return undefined
        continue
      }
      const value = encodePage(key, entries as number[])
      if (isNamed || !same(value, await store.get(key))) writes.set(hex(key), [key, value])
    }
  return [...writes.values()]
}

async function edgeOf(store: Store, { key }: PostingList): Promise<PostingEdge | undefined> {
  const value = await store.get(key)
  return readable(() => value && decodeEdge(key, value))
}

/** The list as if nothing but what is known had ever been filed in it. */
async function anew(store: Store, { list: { index, elements, key }, ordinals }: Faulty): Promise<Write[]> {
  const writes: Write[] = []
  for await (const entries of entriesOf(store, pageRange(index.tag, elements))) for (const [page] of entries) writes.push([page, undefined])
  const edge = appendTo(PostingEdge.empty, index, elements, ordinals, writes)
  writes.push(edgeWrite(key, edge))
  return writes
}

/** The pruned records that a list can still be seen to name. For an offer, the last of them is known from elsewhere too. */
async function prunedOf(context: Context, list: PostingList): Promise<number[]> {
  const { head, store } = context
  const since = head.since[list.index.of.tag]!
  const found: number[] = []
  const edge = await store.get(list.key)
  // If a page is damaged, those before it were already seen.
  await readable(async () => {
    if (edge) for await (const entries of walk(context, list, edge)) found.push(...entries.filter((ordinal) => ordinal < since))
  })
  if (list.index === changesByOffer) {
    const key = baseKey(list.elements[0] as bigint)
    const value = await store.get(key)
    // If it is damaged, it is reported by itself.
    const last = await readable(() => value && decodeBlock(key, offerChanges, value).id(0))
    if (last !== undefined) found.push(Number(last))
  }
  return [...new Set(found)].sort((a, b) => a - b)
}
