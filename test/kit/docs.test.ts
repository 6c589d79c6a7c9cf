/** The pages on testing tell the truth: the examples are run, and what the laws reject is read from the lists of faults. */
import { expect, test, vi } from 'vitest'
import { pagingAlgebra } from '../../adapters/check/algebra.ts'
import { answerLaws } from '../../adapters/check/answers.ts'
import { BELONGS } from '../../adapters/check/belongs.ts'
import { siteLaws } from '../../adapters/check/problems.ts'
import { listedLaws } from '../../adapters/check/service.ts'
import { memory } from '../../adapters/memory/index.ts'
import { type Law, pagingLaws, storeConformance, streamLaws } from '../../adapters/testing/index.ts'
import { read, row, same, withExamples } from '../support/docs.ts'
import { faultyAnswers } from './faulty-answers.ts'
import { storesOfOneDisk } from './faulty-disks.ts'
import { faultyEvents } from './faulty-events.ts'
import { faultyPages } from './faulty-pages.ts'
import { faultyServices } from './faulty-services.ts'
import { faultyStores } from './faulty-stores.ts'
import { faultyStreams } from './faulty-streams.ts'
import { Feed } from './feed.ts'
import { Pages } from './pages.ts'

test('the example finds the fault planted in its store', async () => {
  const said: string[] = []
  const log = vi.spyOn(console, 'log').mockImplementation((line: string) => void said.push(line))
  try {
    await import('../../examples/testing.ts')
  } finally {
    log.mockRestore()
  }
  expect(said.join()).toMatch(/^Broken: keys that differ only.*\nscan from <00> to <0000>, \{"limit":10\}: expected /)
  expect(said.join()).toMatch(/Broken: a range includes its lower bound and excludes its upper;/)
  expect(said.join()).toMatch(/FC_SEED=-?\d+ repeats this/)
})

test('the example finds the fault planted in its stream', async () => {
  const said: string[] = []
  const log = vi.spyOn(console, 'log').mockImplementation((line: string) => void said.push(line))
  vi.stubEnv('FC_RUNS', '60')
  try {
    await import('../../examples/testing-stream.ts')
  } finally {
    vi.unstubAllEnvs()
    log.mockRestore()
  }
  expect(said.join()).not.toMatch(/TypeError|failed with|ended by itself/)
  expect(said.join()).toMatch(/Broken: .*\nreader \d from .*: it waits, and never saw \d+\n/)
})

test('docs/testing.md shows the examples', () => same('docs/testing.md', withExamples(read('docs/testing.md'))))

type Faults = readonly (readonly [law: string, fault: string, ...rest: unknown[]])[]

/** The rows of what each law rejects, in the order of the laws. */
function table(
  what: string,
  laws: readonly Pick<Law, 'name'>[],
  faults: Faults,
  more?: readonly [head: string, cell: (fault: Faults[number]) => string],
): string[] {
  const rows = laws.flatMap(({ name }) =>
    faults.filter(([start]) => name.startsWith(start)).map((fault) => row(fault[1], name, ...(more ? [more[1](fault)] : []))),
  )
  expect(rows.length).toBe(faults.length)
  const heads = [`${what} that …`, 'is rejected by', ...(more ? [more[0]] : [])]
  return [row(...heads), row(...heads.map(() => '---')), ...rows]
}

test('docs/mutants.md lists every fault and the law that rejects it', () => {
  const stores = [...faultyStores, ...storesOfOneDisk]
  expect(stores.length).toBeGreaterThanOrEqual(60)
  expect(faultyPages.length).toBeGreaterThanOrEqual(20)
  expect(faultyStreams.length).toBeGreaterThanOrEqual(10)
  const services = [...faultyServices, ...faultyAnswers, ...faultyEvents]
  const serviceLaws = [pagingAlgebra[0]!, { name: BELONGS }, ...answerLaws, ...listedLaws, ...siteLaws]
  const seen = faultyPages.filter(([, , , ofOneSource]) => !ofOneSource).length
  const page = [
    '# What the laws reject',
    '',
    'Laws are worth what they reject. Each line below is a correct implementation with one fault added by hand, and the law that must reject it.',
    '`test/kit/` runs all of them, and this page is generated from it (`UPDATE_DOCS=1 npx vitest run test/kit/docs.test.ts`).',
    '',
    `## ${stores.length} stores`,
    '',
    ...table('A store', storeConformance({ open: () => memory() }), stores),
    '',
    `## ${faultyPages.length} paged APIs`,
    '',
    `${seen} of them are also rejected by \`folio check\`, over HTTP, while records are added. The pages of the others agree with each other, so it takes`,
    'another source of the records to see what is wrong.',
    '',
    ...table('An API', pagingLaws({ open: () => new Pages() }), faultyPages, ['over HTTP', (fault) => (fault[3] ? 'not seen' : 'yes')]),
    '',
    `## ${services.length} services`,
    '',
    'Each of their listings pages as it should, or not at all; `folio check` compares them with each other, and looks at headers, refusals and event',
    'streams.',
    '',
    ...table('A service', serviceLaws, services),
    '',
    `## ${faultyStreams.length} streams`,
    '',
    ...table('A stream', streamLaws({ open: (step) => new Feed(step) }), faultyStreams),
    '',
  ]
  same('docs/mutants.md', page.join('\n'))
})
