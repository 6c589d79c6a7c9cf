/** The laws of streams, for any API that streams records after a cursor, as properties under schedules of every kind. */
import fc from 'fast-check'
import { type MaybePromise, OptionRules } from '../../src/index.ts'
import { COUNT, type Declined, decline, type Law } from '../check/index.ts'
import { forAll } from './property.ts'
import { type Plan, play } from './stream-play.ts'
import type { Reader, StreamSource } from './stream-seat.ts'

export interface StreamSubject<R> {
  /**
   * A source without records, a separate one each time. Where it must wait for something (a read, a commit) it may wait for `step` instead, so that
   * the schedule decides what comes first; a source that never does is still read and written in every order.
   */
  open(step: () => Promise<void>): MaybePromise<StreamSource<R>>
  /** Milliseconds for which a source may give no sign of life, if its waits are not steps: with each, they begin anew. Default: 0. */
  readonly patience?: number | undefined
  /** How many schedules each law tries. Default: 200. */
  readonly runs?: number | undefined
  /** Laws that this API does not keep, each by a beginning of its name that no other law shares, with the reason. */
  readonly declined?: Declined | undefined
}

const members = new OptionRules<StreamSubject<unknown>>('streamLaws', {
  open: { needed: 'callback' },
  patience: { least: 0, of: 'milliseconds' },
  runs: COUNT,
  declined: 'object',
})

/** The most that is appended at once where a page must overflow: streams read in pages of up to 200 records. */
const LARGE = 450

const steady = {
  ...{ eager: fc.boolean(), when: fc.nat(5), pause: fc.nat(2), ahead: fc.constant(1) },
  ...{ stop: fc.constant<Reader['stop']>('never'), stopAfter: fc.nat(12) },
}
const reader = (how: Partial<{ [K in keyof Reader]: fc.Arbitrary<Reader[K]> }>): fc.Arbitrary<Reader> =>
  fc.record({ from: fc.constant<Reader['from']>('start'), ...steady, ...how })
const anywhere: fc.Arbitrary<Reader['from']> = fc.oneof(fc.constantFrom<Reader['from']>('start', 'now'), fc.nat(30))

const plan = (
  one: fc.Arbitrary<Reader>,
  {
    most = 1,
    count = fc.integer({ min: 1, max: 4 }),
    close = false,
  }: { most?: number; count?: fc.Arbitrary<number>; close?: boolean } = {},
): fc.Arbitrary<Plan> =>
  fc.record({
    history: fc.nat(6),
    steps: fc.array(count, { minLength: 1, maxLength: 6, size: 'max' }),
    readers: fc.array(one, { minLength: most > 1 ? 2 : 1, maxLength: most, size: 'max' }),
    close: fc.constant(close),
  })

/** A law, the plans that try it, and what a source needs for it. */
const laws: readonly { name: string; plans: fc.Arbitrary<Plan>; needs?: 'now' | 'close'; share?: number }[] = [
  { name: 'a stream delivers what is there and then what comes: each record once, in order, without end', plans: plan(reader({})) },
  {
    name: 'a stream after a record begins with the next one, even if that comes later',
    plans: plan(reader({ from: fc.nat(30) })),
  },
  {
    name: 'a stream from now delivers what is appended after the call, even before the first pull, and nothing else',
    plans: plan(reader({ from: fc.constant('now') })),
    needs: 'now',
  },
  {
    name: 'more records at once than a page holds are delivered whole',
    plans: plan(reader({ from: anywhere }), { count: fc.constantFrom(1, 199, 200, 201, LARGE) }),
    share: 0.3,
  },
  { name: 'many streams at once, each at its own pace, all see everything', plans: plan(reader({ from: anywhere }), { most: 5 }) },
  {
    name: 'pulls that do not wait for each other are answered in order',
    plans: plan(reader({ from: anywhere, ahead: fc.integer({ min: 2, max: 3 }) })).map(evened),
  },
  {
    name: 'a stream that is aborted or returned ends, even while it waits, and the others go on',
    plans: plan(reader({ from: anywhere, stop: fc.constantFrom('never', 'abort', 'return', 'before') }), { most: 4 }),
  },
  {
    name: 'closing ends every stream, even those that wait',
    plans: plan(reader({ from: anywhere }), { most: 4, close: true }),
    needs: 'close',
  },
]

/** Pulls made at once are all awaited, so as many records must come as were asked for: multiples of `ahead` make sure of that. */
function evened(one: Plan): Plan {
  const [{ ahead }] = one.readers as [Reader]
  return {
    ...one,
    steps: one.steps.map((count) => count * ahead),
    history: one.history * ahead,
    readers: one.readers.map((r) => ({ ...r, from: 'start' })),
  }
}

/**
 * The laws of streams. Each opens sources of its own and rejects with the smallest plan and schedule found under which a reader saw something wrong:
 * a record lost, duplicated or out of order, or a stream that ended or would not end.
 * @throws BAD_REQUEST if a member is unknown or out of range
 * @example for (const law of streamLaws({ open: (step) => new Feed(step) })) test(law.name, law.run)
 */
export function streamLaws<R>(subject: StreamSubject<R>): Law[] {
  const { open, patience = 0, runs = 200, declined } = members.check(subject)
  const made = laws.map(
    ({ name, plans, needs, share = 1 }): Law => ({
      name,
      run: async () => {
        if (needs !== undefined && (await open(async () => {}))[needs] === undefined)
          throw new TypeError(`the source has no \`${needs}\`: decline this law, and say why`)
        await forAll(fc.tuple(fc.scheduler(), plans), Math.ceil(runs * share), async ([s, planned]) => {
          const faults = await play(s, planned, { open, patience })
          if (faults.length > 0) throw new Error(faults.join('\n'))
        })
      },
    }),
  )
  return decline(made, declined)
}
