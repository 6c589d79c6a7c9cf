/** Properties, tried on as many cases as the run asks for. */
import fc from 'fast-check'

/** Runs a property; `FC_SEED` in the environment repeats one that failed, `FC_RUNS` sets how many cases are tried. */
export async function holds<T>(arbitrary: fc.Arbitrary<T>, numRuns: number, check: (value: T) => Promise<void> | void): Promise<void> {
  const { FC_SEED, FC_RUNS } = process.env
  const property = fc.asyncProperty(arbitrary, async (value) => {
    await check(value)
  })
  await fc.assert(property, { numRuns: Number(FC_RUNS ?? numRuns), ...(FC_SEED !== undefined && { seed: Number(FC_SEED) }) })
}
