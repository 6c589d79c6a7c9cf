/** Checks that a law rejects a subject because of what it expected, not because the fault broke something else on the way. */
import { expect } from 'vitest'
import type { Law } from '../../adapters/testing/index.ts'

/** @param start the beginning of the law's name */
export const named = (laws: readonly Law[], start: string): Law => laws.find(({ name }) => name.startsWith(start))!

/** @param start the beginning of the law's name */
export async function rejects(laws: readonly Law[], start: string, said?: RegExp): Promise<void> {
  const error = await named(laws, start)
    .run()
    .then(
      () => undefined,
      (error: Error) => error,
    )
  expect(error, 'the law holds').toBeInstanceOf(Error)
  if (said) expect(error?.message).toMatch(said)
  for (let reason: unknown = error; reason instanceof Error; reason = reason.cause) {
    expect(reason, String(reason)).not.toBeInstanceOf(TypeError)
    expect(reason, String(reason)).not.toBeInstanceOf(RangeError)
  }
}
