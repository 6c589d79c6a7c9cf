/** Ending history before what is lost, so that what follows can be ingested again. */
import { equal } from '../bytes.ts'
import { headAt } from '../ingest/rollback.ts'
import { inEra } from '../ingest/state.ts'
import { decodeEra, encodeHead, type Head, nextEra } from '../layout/head.ts'
import { CONTENT_KEYS, digestKey, ERA, FORMAT, HEAD, INTENT, KIND, keysOf } from '../layout/keys.ts'
import { ledgers } from '../resources/ledger.ts'
import type { Write } from '../store.ts'
import { AT_ONCE, begun, commit, write } from './commit.ts'
import { type Context, entriesOf, readable, readerUnder } from './context.ts'

/**
 * Ends history before the first ledger that is lost. A block that lacks records is as it was some ledgers ago: those are whole again under a head of
 * then, so the first cut is before the records that it lacks, and the next audit says whether another is needed.
 * @returns the newest ledger left; 0 if none is
 */
export async function cutBefore(context: Context): Promise<number | undefined> {
  const { head: before, findings } = context
  let last = Number.POSITIVE_INFINITY
  for (const ledger of findings.ledgers.keys()) last = Math.min(last, ledger - 1)
  // A head that is still at fault could not be built again: there is no ledger that it could name, or ledgers above it are lost.
  const isWrong = findings.isNamed(HEAD)
  const headless = before.last === 0 && isWrong
  if (last >= before.last && !isWrong) return undefined
  const shorter = headless ? undefined : ((await beforeGaps(context, last + 1)) ?? (await headBefore(context, Math.min(last, before.last))))
  if (!shorter) return (await giveUp(context)) ? 0 : undefined
  const above = await digestsAbove(context, shorter.last)
  if (shorter.last === before.last && above.length === 0) return undefined
  await commit(context, above.slice(AT_ONCE))
  const ended = await endEra(context, shorter.last)
  const head: Write = [HEAD, encodeHead(inEra(context.store, shorter, decodeEra(ended[0]?.[1])))]
  await write(context, [begun(context), ...above.slice(0, AT_ONCE), ...ended, head])
  return shorter.last
}

/** Without those, a head that is built again does not go beyond, nor is a ledger looked for there. */
async function digestsAbove({ store }: Context, last: number): Promise<Write[]> {
  const writes: Write[] = []
  for await (const entries of entriesOf(store, { ...keysOf(KIND.digest), gte: digestKey(last + 1) }))
    for (const [key] of entries) writes.push([key, undefined])
  return writes
}

/** What tells the processes that share a store how much of history is left, as after a rollback; to be written with the head. */
async function endEra({ store }: Context, last: number): Promise<Write[]> {
  if (!store.capabilities.shared) return []
  const eras = await store.get(ERA)
  return [[ERA, (await readable(() => nextEra(eras, last))) ?? nextEra(undefined, last)]]
}

/** The head of a ledger, if that is held. */
const headBefore = async ({ head, reader }: Context, last: number): Promise<Head | undefined> =>
  last < head.oldest ? undefined : reader.run((read) => headAt(read, last))

/** The head of the newest ledger from `least` on all of whose records come before those that are missing from blocks, if there are both. */
async function beforeGaps({ store, head, gaps }: Context, least: number): Promise<Head | undefined> {
  if (gaps.size === 0) return undefined
  const counts = head.counts.map((count, tag) => Math.min(count, gaps.get(tag) ?? count))
  const reader = readerUnder(store, { ...head, counts })
  // Of ledgers that are missing themselves there is no row to read.
  const newest = Math.min(head.last, head.first + counts[ledgers.tag]!) - 1
  for (let last = newest; last >= Math.max(least, head.oldest); last--) {
    const found = await readable(() => reader.run((read) => headAt(read, last)))
    if (found?.counts.every((count, tag) => count <= counts[tag]!)) return found
  }
  return undefined
}

/** Removes everything but the name of the network and the era. Until all is gone, what is left is damaged, and may be given up again. */
async function giveUp(context: Context): Promise<boolean> {
  let any = false
  for await (const entries of entriesOf(context.store, { ...CONTENT_KEYS, gte: HEAD })) {
    const gone = entries.filter(([key]) => !kept.some((one) => equal(one, key))).map(([key]): Write => [key, undefined])
    if (gone.length === 0) continue
    // The head is the first to go.
    await commit(context, any ? gone : [...(await endEra(context, 0)), ...gone])
    any = true
  }
  return any
}

const kept = [FORMAT, INTENT, ERA]
