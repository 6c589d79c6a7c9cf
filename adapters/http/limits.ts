/**
 * The limits of a service, one row each: the default, what may be set, and what happens beyond it.
 * **Invariant:** every wait of a server ends, and everything that a client can make it hold is bounded.
 */
import type { Rules } from '../../src/index.ts'

interface Limit {
  readonly default: number
  readonly least: number
  readonly most: number
  /** What it bounds, and what happens beyond it. */
  readonly what: string
}

export const limits = {
  maxConnections: { default: 12_000, least: 1, most: 1_000_000, what: 'connections at a time; any further one is closed at once' },
  maxStreams: { default: 10_000, least: 0, most: 1_000_000, what: 'event streams at a time; any further one is answered 503' },
  maxQueued: {
    default: 32,
    least: 1,
    most: 10_000,
    what: 'requests of one connection that may wait for earlier responses; once so many wait, it is closed after the last of them',
  },
  maxTargetBytes: { default: 8192, least: 256, most: 1 << 20, what: 'bytes of a request target; 414 beyond' },
  maxHeaderBytes: { default: 32_768, least: 2048, most: 1 << 20, what: 'bytes of a request line and its headers; 431, or 414, beyond' },
  headersMs: { default: 10_000, least: 100, most: 3_600_000, what: 'for the headers to arrive; then 408' },
  requestMs: { default: 30_000, least: 100, most: 3_600_000, what: 'for a whole request to arrive; then 408' },
  stallMs: {
    default: 30_000,
    least: 100,
    most: 3_600_000,
    what: 'for a client to take some of a response; after once or twice that, it is disconnected',
  },
  keepAliveMs: {
    default: 65_000,
    least: 5_000,
    most: 65_000,
    what: 'how long an idle connection is kept: longer than load balancers wait',
  },
  streamIdleMs: { default: 15_000, least: 100, most: 3_600_000, what: 'of silence on an event stream; then `hello` is sent again' },
  streamStallMs: {
    default: 30_000,
    least: 100,
    most: 3_600_000,
    what: 'for the client of an event stream to take some of what was sent; then it is disconnected',
  },
  drainMs: {
    default: 5_000,
    least: 0,
    most: 3_600_000,
    what: 'that closing waits for requests and responses in flight; then they are cut off',
  },
} as const satisfies Record<string, Limit>

export type LimitName = keyof typeof limits

/** Limits that replace the defaults. The names say the unit: `Ms` milliseconds, `Bytes` bytes, otherwise a count. */
export type Limits = { readonly [N in LimitName]?: number | undefined }

/** What each limit may be set to. */
export const limitRules = Object.fromEntries(
  Object.entries<Limit>(limits).map(([name, { least, most }]) => [name, { least, most, whole: true }]),
) as Rules<Limits>

/** The limits that hold wherever a core is mounted; the others belong to its server. */
const ofCore = ['maxTargetBytes', 'maxStreams', 'streamIdleMs', 'streamStallMs'] as const

export type CoreLimits = Pick<Limits, (typeof ofCore)[number]>

export const coreLimitRules = Object.fromEntries(ofCore.map((name) => [name, limitRules[name]])) as Rules<CoreLimits>

/** All limits, set or default. */
export function settle(set: Limits): Readonly<Record<LimitName, number>> {
  const settled = Object.entries<Limit>(limits).map(([name, { default: fallback }]) => [name, set[name as LimitName] ?? fallback])
  return Object.fromEntries(settled)
}
