/** How the tests beside the stresses run them: at a small figure, and with every planted bug that each must find. */
import { afterAll, expect, test } from 'vitest'
import { sweep } from './program.ts'
import { look, type Stress } from './stress.ts'

afterAll(sweep)

const seed = Number(process.env['FOLIO_SEED'] ?? 1)

/** @param plants the planted bugs that are fast enough for every run; `npm run stress -- --plants` plants them all */
export function holds(stress: Stress, count: number, plants: readonly string[] = Object.keys(stress.plants)): void {
  test(`${stress.name}: ${count} ${stress.unit}`, async ({ skip }) => {
    const { done, faults, skipped } = await stress.run({ count, seed })
    if (skipped !== undefined) skip(skipped)
    expect(faults, `seed ${seed}`).toEqual([])
    expect(done).toBeGreaterThanOrEqual(count)
  }, 600_000)

  test.for(plants)(`${stress.name} finds: %s`, { timeout: 600_000 }, async (plant, { skip }) => {
    const { faults, skipped } = await look(stress, plant, seed)
    if (skipped !== undefined) skip(skipped)
    expect(faults).not.toEqual([])
  })
}
