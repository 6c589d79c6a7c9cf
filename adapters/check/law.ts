/** A law: something that must hold, in words, and a way to find out. Made to be handed to whatever test runner is at hand. */

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

/** Laws that are not to be checked, by the beginning of their names, each with the reason. */
export type Declined = Readonly<Record<string, string>>

/**
 * Marks the laws that are declined.
 * @throws TypeError for one that is none of these laws, or is declined without a reason
 */
export function decline(laws: readonly Law[], declined: Declined = {}): Law[] {
  const reasons = Object.entries(declined)
  for (const [start, reason] of reasons) {
    if (!laws.some(({ name }) => name.startsWith(start))) throw new TypeError(`there is no law "${start}…" to decline`)
    if (reason.trim() === '') throw new TypeError(`a declined law must say why: "${start}…"`)
  }
  return laws.map((law) => {
    const [, skip = law.skip] = reasons.find(([start]) => law.name.startsWith(start)) ?? []
    return skip === undefined ? law : { ...law, skip }
  })
}
