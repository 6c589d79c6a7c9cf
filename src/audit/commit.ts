/**
 * What a repair writes, in batches. **Invariants:** each is refused if another process has written a head meanwhile; and the store holds the intent of
 * the repair with the first of them.
 */
import { equal, hex, same } from '../bytes.ts'
import { type Change, type Cut, encodeIntent } from '../layout/head.ts'
import { HEAD, INTENT } from '../layout/keys.ts'
import type { Write } from '../store.ts'
import type { Context } from './context.ts'

/** The unfinished rollback or pruning, even if a repair was begun since. */
export const cutOf = ({ intent }: Context): Cut | undefined => (intent && 'repair' in intent ? intent.unfinished : intent)

/** A repair in progress, with what was unfinished before it. */
export function repairing(context: Context): Change {
  const unfinished = cutOf(context)
  return { repair: true, ...(unfinished && { unfinished }) }
}

/** The write that says that a repair is in progress. */
export const begun = (context: Context): Write => [INTENT, encodeIntent(repairing(context))]

/** How many values are written together. */
export const AT_ONCE = 10_000

/**
 * What is written together may be large, so it is split; a kill between two batches leaves faults that the next run finds.
 * @returns false, with nothing written, if all of it is as it would be
 */
export async function commit(context: Context, writes: readonly Write[]): Promise<boolean> {
  if (!(await isNews(context, writes))) return false
  for (let at = 0; at < writes.length; at += AT_ONCE) await write(context, [begun(context), ...writes.slice(at, at + AT_ONCE)])
  return true
}

/** False for what was written in an earlier round and is at fault even so: to write it again would keep what else may help from being tried. */
async function isNews({ store }: Context, writes: readonly Write[]): Promise<boolean> {
  for (const [key, value] of new Map(writes.map((write) => [hex(write[0]), write])).values())
    if (!same(await store.get(key), value)) return true
  return false
}

/** Whatever others write, they write a head with it: then what was found is no longer so. @throws CONFLICT */
export async function write(context: Context, writes: readonly Write[]): Promise<void> {
  await context.store.write(writes, { durable: true, expect: { key: HEAD, value: context.storedHead } })
  const head = writes.findLast(([key]) => equal(key, HEAD))
  if (head) context.storedHead = head[1]
}
