/** A law: something that must hold, in words, and a way to find out. Made to be handed to whatever test runner is at hand. */
import { badRequest, checkNames } from '../../src/index.ts'

/**
 * @example for (const law of laws) test(law.name, { skip: law.skip ?? false }, law.run) // node:test
 * @example for (const law of laws) test.skipIf(law.skip)(law.name, law.run, 120_000) // vitest
 * @example for (const law of laws) (law.skip ? test.skip : test)(law.name, law.run, 120_000) // jest
 */
export interface Law {
  /** What holds, in words. */
  readonly name: string
  /** Why this law is not checked here. */
  readonly skip?: string
  /**
   * Resolves where the law holds; rejects with what was expected and what came. Can be run again, and handed on without its law. Where it turns out
   * that there is nothing to check, it calls `skip` of the test's context with the reason, if the runner handed that in.
   */
  readonly run: () => Promise<void>
}

/** Laws that are not to be checked, each with the reason: by their names, or by as much of the beginning as no other law of these shares. */
export type Declined = Readonly<Record<string, string>>

const refuse = (reason: string, field = 'declined'): never => {
  throw badRequest(field, reason)
}

/**
 * A subject of these members alone: a law that asks for one which is misspelt would be skipped, or try what nobody asked for.
 * @param counts those of how many something is tried, of which none is not enough
 * @throws BAD_REQUEST
 */
export function checkSubject<T extends object>(
  subject: T,
  of: string,
  names: readonly (string & keyof T)[],
  counts: readonly (string & keyof T)[] = [],
): T {
  checkNames(subject, of, names)
  const { open } = subject as { open?: unknown }
  if (typeof open !== 'function') refuse('a function that gives what is tried', 'open')
  for (const name of counts) {
    const count = subject[name]
    if (count !== undefined && !(Number.isSafeInteger(count) && Number(count) >= 1)) refuse('a whole number, 1 or more', name)
  }
  return subject
}

/** Whether there is anything to check may show only once a test has begun: `run` is handed the context of the test by node:test and vitest. */
export function tellSkipped(context: unknown, reason: string): void {
  const test = context as { skip?: unknown } | undefined
  if (typeof test?.skip === 'function') test.skip(reason)
}

/** @throws BAD_REQUEST where the name is that of no law, or begins several */
function lawNamed(laws: readonly Law[], start: string): Law {
  const found = laws.filter(({ name }) => name.startsWith(start))
  const [law = found.find(({ name }) => name === start)] = found.length === 1 ? found : []
  if (law) return law
  if (found.length === 0) return refuse(`there is no law "${start}…" to decline`)
  return refuse(`"${start}…" is the beginning of ${found.length} laws; say which: ${found.map(({ name }) => `"${name}"`).join(', ')}`)
}

/**
 * Marks the laws that are declined.
 * @throws BAD_REQUEST, field `declined`, for one that is none of these laws, that may be several of them, or is declined without a reason
 */
export function decline(laws: readonly Law[], declined: Declined = {}): Law[] {
  const reasons = new Map<Law, string>()
  for (const [start, reason] of Object.entries(declined)) {
    const law = lawNamed(laws, start)
    if (typeof reason !== 'string' || reason.trim() === '') refuse(`a declined law must say why: "${start}…"`)
    reasons.set(law, reason)
  }
  return laws.map((law) => {
    const skip = reasons.get(law) ?? law.skip
    return skip === undefined ? law : { ...law, skip }
  })
}
