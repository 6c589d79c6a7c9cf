/**
 * How properties are tried, whatever the runner: a number of cases, from a seed that can be given, and a failure reported with the way to repeat it.
 */
import fc from 'fast-check'
import { badRequest, Check } from '../../src/check.ts'
import { showCase } from './store-show.ts'

const wholeNumber = new Check({ whole: true })
const count = new Check({ least: 1, whole: true })

/** Anything but a number would try no case at all, or repeat another seed, and pass. @throws BAD_REQUEST */
function env(name: string, check: Check): number | undefined {
  const found = globalThis.process?.env[name]
  if (found === undefined || found === '') return undefined
  const number = Number(found)
  if (!check.fits(number)) throw badRequest(name, check.expected, found)
  return number
}

/** The seed that `FC_SEED` asks for. */
export const seed = (): number | undefined => env('FC_SEED', wholeNumber)

/** How many steps of a schedule are shown. */
const STEPS = 20

/** Without a case that fails, a property fails for this alone. */
const LIMITS =
  "it ran into fast-check's own time limit (`interruptAfterTimeLimit` or `skipAllAfterTimeLimit` of `fc.configureGlobal`); raise or remove that"

/** A schedule may have a thousand steps; all but the last ones are only counted. The seed brings all of them back. */
const withoutOldSteps = (told: string): string =>
  told.replace(/(?:\n-> \[task.*)+/g, (schedule) => {
    const steps = schedule.slice(1).split('\n')
    const left = steps.length - STEPS
    return left > 0 ? `\n… ${left} steps before\n${steps.slice(left).join('\n')}` : schedule
  })

/**
 * Tries a property on `numRuns` values, or on as many as `FC_RUNS` says.
 * @throws the smallest value found for which `check` rejects, with the seed that leads to it; an error that says so, if a time limit of fast-check leaves
 * too few values tried
 */
export async function forAll<T>(arbitrary: fc.Arbitrary<T>, numRuns: number, check: (value: T) => Promise<void>): Promise<void> {
  const property = fc.asyncProperty(arbitrary, async (value) => {
    await check(value)
  })
  const given = seed()
  const run = await fc.check(property, { numRuns: env('FC_RUNS', count) ?? numRuns, ...(given !== undefined && { seed: given }) })
  if (!run.failed) return
  const { errorInstance: cause, seed: failed, counterexample, numRuns: tried } = run
  if (counterexample === null) throw new Error(`the law was interrupted after ${tried} cases, and none of them failed: ${LIMITS}`)
  const told = cause instanceof Error ? cause.message : String(cause)
  const smallest = withoutOldSteps(showCase(await fc.asyncStringify(counterexample[0])))
  throw new Error(`${told}\nin case ${tried}, made as small as it gets: ${smallest}\nFC_SEED=${failed} repeats this.`, { cause })
}
