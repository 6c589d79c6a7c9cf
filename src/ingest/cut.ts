/**
 * Cutting history at one of its ends, in as few batches as its steps allow, each ending at a ledger. The intent is kept until the last, so that an open
 * can finish it; of a rollback in a store that is not shared, until a batch of its own after that. A prune that meets damage ends there, and leaves no
 * intent.
 */

import { type Cut, encodeIntent, type Head, nextEra } from '../layout/head.ts'
import { ERA, HEAD, INTENT } from '../layout/keys.ts'
import { isDamage } from '../layout/seal.ts'
import type { Write } from '../store.ts'
import { giveWay } from '../turn.ts'
import { recordsBetween, total } from './filing.ts'
import type { History } from './history.ts'
import { prunedRanges, stepUp } from './prune.ts'
import { stepBack } from './rollback.ts'
import { inEra, mayHold, tailsOf } from './state.ts'
import type { Step } from './step.ts'

/** Removes every ledger after `sequence`; returns how many. */
export async function rollBackTo(history: History, sequence: number): Promise<number> {
  const { oldest, first, last } = history.head
  const isDone = ({ last }: Head): boolean => last <= sequence || last === 0
  const goal = sequence < oldest ? 0 : sequence
  await history.highWater.lower(goal, history.inEra(history.head).era)
  history.goal = goal
  try {
    await takeSteps(history, { rollback: sequence }, () => stepBack(history, sequence), isDone)
    // If nothing was rolled back, the tails are unchanged, and cannot be read under a head that is no longer current.
    if (history.head.last < last) history.tails = await history.askToWrite(() => tailsOf(history.store, history.head))
  } catch (error) {
    // The tails belong to the previous head: nothing may be appended to them.
    if (history.head.last < last) history.poison(error)
    // Nothing is to go: what was noted of it counts again.
    else if (!history.poisoned && !history.unsynced) history.reached()
    throw error
  } finally {
    history.goal = undefined
    if (history.head.last < last) history.listener.rolledBack(history.head.last)
  }
  return last === 0 ? 0 : last - Math.max(history.head.last, first - 1)
}

/** Removes every ledger before `oldest`; returns how many. */
export async function pruneTo(history: History, oldest: number): Promise<number> {
  const before = history.head.oldest
  const isDone = (head: Head): boolean => head.oldest >= oldest
  try {
    await takeSteps(history, { prune: oldest }, () => stepUp(history, oldest), isDone)
  } catch (error) {
    // Each open would try again, and fail, though history is whole after each step. If this fails too, the next open has to try again.
    if (isDamage(error)) await removeIntent(history).catch(() => {})
    throw error
  }
  return history.head.oldest - before
}

/**
 * Whether the store should reclaim the space of what was pruned: that costs about as much for one ledger as for thousands. It is due with a prune of a
 * sixteenth of what is held, and where ledgers are pruned one by one, with every portion of a quarter to an eighth. Nothing is kept of it, so that it
 * does not matter how many processes prune one after another.
 * @param since how many records of each log were pruned before
 */
export function isReclaimDue(since: readonly number[], head: Head): boolean {
  const held = recordsBetween(head.since, head.counts)
  const portion = 2 ** Math.floor(Math.log2(Math.max(1, held / 4)))
  return recordsBetween(since, head.since) >= held / 16 || Math.floor(total(since) / portion) < Math.floor(total(head.since) / portion)
}

/** Has the store reclaim the space of what was pruned. */
export async function reclaim({ store, head }: History): Promise<void> {
  for (const range of prunedRanges(head)) await store.compact?.(range)
}

async function takeSteps(history: History, cut: Cut, next: () => Promise<Step>, isDone: (head: Head) => boolean): Promise<void> {
  const { shared } = history.store.capabilities
  // A store that finds what it wrote last damaged may take it for a write that never ended. If that is the removal of the intent, the next open removes
  // it again. A prune that is lost shows nothing wrong, and a service that prunes with each ledger would pay for one more write.
  const isApart = 'rollback' in cut && !shared
  const wasDone = isDone(history.head)
  while (!isDone(history.head)) {
    await giveWay()
    const step = await next()
    await takeStep(history, cut, step, isDone(step.head) && !isApart)
  }
  if (isApart || wasDone) await removeIntent(history)
  // What was noted before belongs to an earlier era, or to a ledger that is gone.
  if (!history.unsynced) history.reached()
}

async function removeIntent({ store, state }: History): Promise<void> {
  const expect = { key: HEAD, value: state.head }
  if (await store.get(INTENT)) await store.write([[INTENT, undefined]], { durable: true, expect })
}

/**
 * Readers move before the store does: what lies outside the new head does not concern them, whether it is there or not. If a step files lists,
 * however, they move after it: until then only memory has what waited.
 */
async function takeStep(history: History, cut: Cut, { writes, unfiled, filed, ...step }: Step, isLast: boolean): Promise<void> {
  const { store, head: before, backlog: waited } = history
  // If only this process has the store open, nobody else reads, and no era is kept.
  const { shared } = store.capabilities
  const eras = shared ? await store.get(ERA) : undefined
  const era = shared ? history.state.era + 1 : history.state.era
  const head = inEra(store, step.head, era)
  const adopt = (): void => history.moveTo(head, unfiled && { unfiled }, filed)
  await history.removing(async () => {
    if (head.filed <= before.filed) adopt()
    try {
      const begun: Write[] = shared ? [[ERA, nextEra(eras, 'rollback' in cut ? head.last : undefined)]] : []
      await history.write([[INTENT, isLast ? undefined : encodeIntent(cut)], ...begun, ...writes], head, true, adopt, era)
    } catch (error) {
      // What was not removed is still history, even for a read that found nothing there meanwhile.
      if (!(await mayHold(store, head))) {
        history.moveTo(before, waited)
        history.listener.committed()
      }
      throw error
    }
  })
}
