/** A law: something that must hold, in words, and a way to check it. Made for any test runner. */
import { badRequest } from '../../src/index.ts'

/**
 * @example for (const law of laws) test(law.name, { skip: law.skip ?? false }, law.run) // node:test
 * @example for (const law of laws) test.skipIf(law.skip)(law.name, law.run, 120_000) // vitest
 * @example for (const law of laws) (law.skip ? test.skip : test)(law.name, law.run, 120_000) // jest
 */
export interface Law {
  /** What holds, in words. */
  readonly name: string
  /** Why this law is skipped. */
  readonly skip?: string
  /**
   * Resolves if the law holds; rejects with what was expected and what came instead. Can be run again, and passed on without its law. If it turns out
   * that there is nothing to check, it calls `skip` of the test's context with the reason, if the runner passed a context.
   */
  readonly run: () => Promise<void>
}

/** How often something is tried, or how much of it: with none, any law would hold. */
export const COUNT = { least: 1, whole: true } as const

/** How long a call may stay unanswered by default, in milliseconds. */
export const PATIENCE = 30_000
/** What may be given instead. */
export const MILLISECONDS = { least: 1, most: 2 ** 31 - 1, of: 'milliseconds' } as const

/** A call that stayed unanswered for that long. */
export const unanswered = (call: () => string, patience: number): Error =>
  new Error(`${call()}: expected an answer; none came within ${patience / 1000} s`)

/** Laws to skip, each with the reason: by name, or by any beginning of a name that is unique among these laws. */
export type Declined = Readonly<Record<string, string>>

const refuse = (reason: string): never => {
  throw badRequest('declined', reason)
}

/** Whether there is anything to check may show only while a test runs: node:test and vitest pass `run` the context of the test. */
export function tellSkipped(context: unknown, reason: string): void {
  const test = context as { skip?: unknown } | undefined
  if (typeof test?.skip === 'function') test.skip(reason)
}

type Named = Pick<Law, 'name'>

/** @throws BAD_REQUEST if the name belongs to no law, or begins several */
function lawNamed(laws: readonly Named[], start: string): Named {
  const found = laws.filter(({ name }) => name.startsWith(start))
  const [law = found.find(({ name }) => name === start)] = found.length === 1 ? found : []
  if (law) return law
  if (found.length === 0) return refuse(`there is no law "${start}…" to decline`)
  return refuse(`"${start}…" is the beginning of ${found.length} laws; say which: ${found.map(({ name }) => `"${name}"`).join(', ')}`)
}

/**
 * Why laws are declined, by their whole names.
 * @throws BAD_REQUEST, field `declined`, if a name fits none of these laws or several, or is declined without a reason
 */
export function reasonsOf(laws: readonly Named[], declined: Declined = {}): ReadonlyMap<string, string> {
  const reasons = new Map<string, string>()
  for (const [start, reason] of Object.entries(declined)) {
    const { name } = lawNamed(laws, start)
    if (typeof reason !== 'string' || reason.trim() === '') refuse(`a declined law must say why: "${start}…"`)
    reasons.set(name, reason)
  }
  return reasons
}

/** Marks the laws that are declined. @throws as {@link reasonsOf} */
export function decline(laws: readonly Law[], declined?: Declined): Law[] {
  const reasons = reasonsOf(laws, declined)
  return laws.map((law) => {
    const skip = reasons.get(law.name) ?? law.skip
    return skip === undefined ? law : { ...law, skip }
  })
}
