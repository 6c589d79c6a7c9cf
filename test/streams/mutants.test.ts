/** A test of the tests: faults planted in the parts of streams, each of which the schedules must detect. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memory } from '../../adapters/memory/index.ts'
import { slowStore } from '../../adapters/testing/slow-store.ts'
import type { Ledger } from '../../src/index.ts'
import type { Listing } from '../../src/scan/listing.ts'
import { RawPage } from '../../src/scan/page.ts'
import type { Bell, Sleeper } from '../../src/stream/bell.ts'
import type { Crowd, Crowds } from '../../src/stream/crowd.ts'
import type { Taker } from '../../src/stream/tail.ts'
import { LedPage } from '../support/led.ts'
import { type Plan, plan, play } from './scenario.ts'

/** The parts of a ledger that its streams work with. */
interface Parts {
  readonly bell: Bell
  readonly crowds: Crowds
  readListing: (listing: Listing, options: any) => RawPage | Promise<RawPage>
  subscribe: (query: any, values: any, options: any) => { readonly ended: boolean; pull(taker: Taker): void; stop(): void }
}

/** Plants a fault in each crowd. */
const inCrowds = (crowds: Crowds, plant: (crowd: Crowd) => void): void => {
  const at = crowds.at.bind(crowds)
  const planted = new WeakSet<Crowd>()
  crowds.at = (list, cursor) => {
    const crowd = at(list, cursor)
    if (!planted.has(crowd)) plant(crowd)
    planted.add(crowd)
    return crowd
  }
}
/** Gives a member a value that nothing changes. */
const pin = (of: object, name: string, value: () => unknown): void => {
  Object.defineProperty(of, name, { get: value, set: () => {} })
}

const mutants: Record<string, (parts: Parts) => void> = {
  'the ticket is taken after the read': ({ bell }) => {
    const after = bell.after.bind(bell)
    bell.after = (ticket, sleeper) => after(ticket < 0 ? ticket : bell.ticket(), sleeper)
  },
  'a ring during a read is lost: the bell wakes sleepers and does not count': ({ bell }) => {
    const parts = bell as unknown as { sleepers: Set<Sleeper> }
    bell.ring = () => {
      const woken = parts.sleepers
      parts.sleepers = new Set()
      queueMicrotask(() => {
        for (const sleeper of woken) sleeper.wake()
      })
    }
  },
  'the cursor moves to the newest record before the page is delivered': (parts) => {
    const { readListing } = parts
    const ahead = async (listing: Listing, options: any, page: RawPage): Promise<RawPage> => {
      const cursor = options.cursor ?? ''
      // While the page is in flight, the cursor moves to where the listing ends by then.
      for (let turn = 0; turn < 3; turn++) await Promise.resolve()
      const { next } = await readListing.call(parts, listing, { limit: 1, order: 'desc' })
      const { records } = await readListing.call(parts, listing, { cursor: next, limit: 1, order: 'asc' })
      const newest = await readListing.call(parts, listing, { cursor: 'now', limit: 1, order: 'asc' })
      return records.length === 0 && page.records.length > 0 && next !== cursor ? new LedPage(page.slices, newest.next, page.ended) : page
    }
    parts.readListing = async (listing, options) => ahead(listing, options, await readListing.call(parts, listing, options))
  },
  'a slow tail goes on from the place of its crowd': ({ crowds }) => inCrowds(crowds, (crowd) => pin(crowd, 'deliveries', () => 0)),
  'a crowd keeps its place when history is rolled back': ({ bell, crowds }) =>
    inCrowds(crowds, (crowd) => pin(crowd, 'rollbacks', () => bell.rollbackCount)),
  'a tail that comes to a crowd is not added to it': ({ crowds }) =>
    inCrowds(crowds, (crowd) => {
      const join = crowd.join.bind(crowd)
      crowd.join = (tail) => {
        if (crowd.size === 0) join(tail)
      }
    }),
  'one of two crowds that meet is forgotten': ({ crowds }) => {
    const enter = crowds.enter.bind(crowds)
    crowds.enter = (crowd) => {
      const there = enter(crowd)
      if (there !== crowd) (crowd as unknown as { tails: Set<unknown> }).tails.clear()
      return there
    }
  },
  'a tail that stops is left in its crowd': ({ crowds }) =>
    inCrowds(crowds, (crowd) => {
      crowd.leave = () => {}
    }),
  'the check for a rollback is left out': ({ bell }) => {
    bell.lowestSince = () => undefined
  },
  'a rollback is reported as ending one ledger later': ({ bell }) => {
    const rolledBack = bell.rolledBack.bind(bell)
    bell.rolledBack = (last) => rolledBack(last + 1)
  },
  'now is the head at the first pull, not at the call': (parts) => {
    const { subscribe } = parts
    parts.subscribe = (query, values, options) => {
      let made: ReturnType<typeof subscribe> | undefined
      const tail = (): ReturnType<typeof subscribe> => (made ??= subscribe.call(parts, query, values, options))
      return {
        get ended() {
          return made?.ended ?? false
        },
        pull: (taker) => tail().pull(taker),
        stop: () => tail().stop(),
      }
    }
  },
  'an abort does not wake': (parts) => {
    const { subscribe } = parts
    parts.subscribe = (query, values, { signal: _, ...options }) => subscribe.call(parts, query, values, options)
  },
  'closing does not wake': ({ bell }) => {
    bell.silence = () => {}
  },
  'a full page is treated as the end': (parts) => {
    const { readListing } = parts
    const full = new Map<string, number>()
    parts.readListing = async (listing, options) => {
      const cursor = options.cursor ?? ''
      const key = `${listing.query.path} ${cursor}`
      if (full.get(key) === parts.bell.ticket()) return new RawPage([], { cursor, ended: 'end', final: false })
      const page = await readListing.call(parts, listing, options)
      if (page.ended === 'limit') full.set(`${listing.query.path} ${page.next}`, parts.bell.ticket())
      return page
    }
  },
}

/** The faults of the first of `numRuns` plans that shows any. */
async function caught(
  plant: ((parts: Parts) => void) | undefined,
  plans: fc.Arbitrary<Plan>,
  numRuns: number,
): Promise<string[] | undefined> {
  let found: string[] | undefined
  const property = fc.asyncProperty(fc.scheduler(), plans, fc.boolean(), async (s, planned, late) => {
    if (found) return
    const faults = await play(s, planned, {
      store: (later) => (late ? slowStore(memory(), later) : memory()),
      sabotage: plant && ((ledger: Ledger) => plant(ledger as unknown as Parts)),
    })
    if (faults.length > 0) found = faults
  })
  await fc.assert(property, { numRuns, ...(process.env.FC_SEED !== undefined && { seed: Number(process.env.FC_SEED) }) })
  return found
}

test('the code as it is passes', async () => {
  expect(await caught(undefined, plan, 300)).toBeUndefined()
})

/** What a mutant needs is rare in random plans: full pages; a first pull that comes long after the call. */
const suited: Readonly<Record<string, (plan: Plan) => Plan>> = {
  'a full page is treated as the end': (one) => ({ ...one, large: true }),
  'now is the head at the first pull, not at the call': ({ subscribers, ...one }) => ({
    ...one,
    subscribers: subscribers.map((subscriber) => ({ ...subscriber, from: 'now', stop: 'never', pause: 8 })),
  }),
}

test.each(Object.keys(mutants))('the schedules detect that %s', async (name) => {
  const faults = await caught(mutants[name], suited[name] ? plan.map(suited[name]) : plan, 2000)
  expect(faults).toBeDefined()
  // A plant that no longer fits what it is planted in would be found for that.
  expect(faults!.join('\n')).not.toMatch(/TypeError|is not a function|of undefined/)
})
