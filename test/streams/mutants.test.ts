/** A test of the tests: faults planted in what a stream is made of, each of which the law of the schedules must see. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memory } from '../../adapters/memory/index.ts'
import { slow } from '../../adapters/testing/slow-store.ts'
import type { Ledger, RawPage } from '../../src/index.ts'
import type { Bell, Sleeper } from '../../src/stream/bell.ts'
import type { SharedReads } from '../../src/stream/tail.ts'
import { type Plan, plan, play } from './scenario.ts'

/** The parts of a ledger that its streams work with. */
interface Parts {
  readonly bell: Bell
  readonly sharedReads: SharedReads
  read: (...asked: any[]) => RawPage | Promise<RawPage>
  tail: (query: any, values: any, options: any) => AsyncIterableIterator<RawPage>
}

const mutants: Record<string, (parts: Parts) => void> = {
  'the ticket is taken after the read': ({ bell }) => {
    const after = bell.after.bind(bell)
    bell.after = (_, sleeper) => after(bell.ticket(), sleeper)
  },
  'a ring while reading is lost: the bell wakes and does not count': ({ bell }) => {
    const parts = bell as unknown as { sleepers: Set<Sleeper> }
    bell.ring = () => {
      const woken = parts.sleepers
      parts.sleepers = new Set()
      for (const sleeper of woken) bell.rouse(sleeper)
    }
  },
  'the cursor is that of the newest record before the page is delivered': (parts) => {
    const { read } = parts
    const ahead = async (asked: any[], page: RawPage): Promise<RawPage> => {
      const cursor = asked[2].cursor ?? ''
      // While the page is on its way, the cursor has moved to where the listing ends by then.
      for (let turn = 0; turn < 3; turn++) await Promise.resolve()
      const { next } = await read.call(parts, asked[0], asked[1], { limit: 1, order: 'desc' })
      const { records } = await read.call(parts, asked[0], asked[1], { cursor: next, limit: 1, order: 'asc' })
      const newest = await read.call(parts, asked[0], asked[1], { cursor: 'now', limit: 1, order: 'asc' })
      return records.length === 0 && page.records.length > 0 && next !== cursor ? { ...page, next: newest.next } : page
    }
    parts.read = async (...asked) => ahead(asked, await read.apply(parts, asked))
  },
  'a page shared under an older ticket is served': ({ sharedReads }) => {
    const get = sharedReads.get.bind(sharedReads)
    sharedReads.get = (key, _, read) => get(key, 0, read)
  },
  'the check for a rollback is left out': ({ bell }) => {
    bell.lowestSince = () => undefined
  },
  'a rollback is told as one of the last ledger but one': ({ bell }) => {
    const rolledBack = bell.rolledBack.bind(bell)
    bell.rolledBack = (last) => rolledBack(last + 1)
  },
  'now is the head at the first pull, not at the call': (parts) => {
    const { tail } = parts
    parts.tail = (query, values, options) => {
      let made: AsyncIterableIterator<RawPage> | undefined
      const pages = (): AsyncIterableIterator<RawPage> => (made ??= tail.call(parts, query, values, options))
      const late: AsyncIterableIterator<RawPage> = {
        next: () => pages().next(),
        return: () => pages().return!(),
        [Symbol.asyncIterator]: () => late,
      }
      return late
    }
  },
  'an abort does not wake': ({ bell }) => {
    bell.rouse = () => {}
  },
  'closing does not wake': ({ bell }) => {
    bell.silence = () => {}
  },
  'a full page is treated as the end': (parts) => {
    const { read } = parts
    const full = new Map<string, number>()
    parts.read = async (...asked) => {
      const cursor = asked[2].cursor ?? ''
      const key = `${asked[0].path} ${cursor}`
      if (full.get(key) === parts.bell.ticket()) return { records: [], next: cursor, prev: cursor, ended: 'end', final: false }
      const page = await read.apply(parts, asked)
      if (page.ended === 'limit') full.set(`${asked[0].path} ${page.next}`, parts.bell.ticket())
      return page
    }
  },
}

/** The first plan whose play shows a fault, of `numRuns`. */
async function caught(
  plant: ((parts: Parts) => void) | undefined,
  plans: fc.Arbitrary<Plan>,
  numRuns: number,
): Promise<string[] | undefined> {
  let found: string[] | undefined
  const property = fc.asyncProperty(fc.scheduler(), plans, fc.boolean(), async (s, planned, late) => {
    if (found) return
    const faults = await play(s, planned, {
      store: (later) => (late ? slow(memory(), later) : memory()),
      sabotage: plant && ((ledger: Ledger) => plant(ledger as unknown as Parts)),
    })
    if (faults.length > 0) found = faults
  })
  await fc.assert(property, { numRuns, ...(process.env.FC_SEED !== undefined && { seed: Number(process.env.FC_SEED) }) })
  return found
}

test('the code as it is passes', async () => {
  expect(await caught(undefined, plan, 300)).toBeUndefined()
}, 120_000)

test.each(Object.keys(mutants))(
  '%s: the law sees it',
  async (name) => {
    // Full pages are rare in plans at large: that mutant is given them.
    const plans = name.startsWith('a full page') ? plan.map((one): Plan => ({ ...one, large: true })) : plan
    expect(await caught(mutants[name], plans, 2000)).toBeDefined()
  },
  120_000,
)
