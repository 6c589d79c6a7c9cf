/** What `npm run bench` and its report are told: what is wrong is said, before anything is measured or written. */
import { expect, test } from 'vitest'
import { type Flags, flagsOf, reportFilesOf, resultsOf, WrongFlag } from '../../bench/flags.ts'

const names = ['page transactions', 'http transactions', 'ingest']
const suitesOf = ({ against, memoryMib }: Flags): string[] => (against === 'sqlite' && memoryMib === undefined ? [...names, 'scan'] : names)
const read = (...argv: string[]) => flagsOf(argv, suitesOf)

test('flags are read', () => {
  expect(read()).toEqual({ quick: false, against: 'sqlite' })
  const all = { quick: true, against: 'sqlite', only: 'http', rounds: 12 }
  expect(read('--quick', '--only', 'http', '--rounds', '12')).toEqual(all)
  expect(read('--quick', '--only', 'http', '--rounds', '12', '--against', 'postgres')).toEqual({ ...all, against: 'postgres' })
  expect(read('--cache-mib', '64')).toEqual({ quick: false, against: 'sqlite', cacheMib: 64 })
  expect(read('--memory-mib', '512')).toEqual({ quick: false, against: 'sqlite', memoryMib: 512 })
})

test.for([
  [['--rounds', 'abc'], '--rounds must be a whole number from 1 to 9999, not abc'],
  [['--rounds', '0'], '--rounds must be a whole number from 1 to 9999, not 0'],
  [['--cache-mib', '1.5'], '--cache-mib must be a whole number from 1 to 9999, not 1.5'],
  [['--memory-mib', '0'], '--memory-mib must be a whole number from 1 to 9999, not 0'],
  [['--memory-mib', '512', '--against', 'postgres'], '--memory-mib is for sqlite, which has no server'],
  [['--memory-mib', '512', '--only', 'scan'], '--only scan names nothing; there is: page transactions; http transactions; ingest'],
  [['--against', 'oracle'], '--against oracle names nothing; there is: sqlite; postgres'],
  [['--only', 'nothing'], '--only nothing names nothing; there is: page transactions; http transactions; ingest; scan'],
  [['--only', 'scan', '--against', 'postgres'], '--only scan names nothing; there is: page transactions; http transactions; ingest'],
  [['--wrong'], "Unknown option '--wrong'. The flags are --quick, --against PEER, --cache-mib N, --memory-mib N, --only TEXT, --rounds N"],
] as const)('%j is wrong', ([argv, says]) => {
  expect(() => read(...argv)).toThrow(new WrongFlag(says))
})

test('what a run writes, and the report of it, leave those of other kinds of runs as they are', () => {
  const runs = [read(), read('--against', 'postgres'), read('--only', 'http'), read('--only', 'http', '--against', 'postgres')]
  expect(runs.map(resultsOf)).toEqual(['latest', 'postgres', 'part', 'part'])
  expect([read('--cache-mib', '64'), read('--cache-mib', '64', '--only', 'http')].map(resultsOf)).toEqual(['cache', 'part'])
  expect([read('--memory-mib', '512'), read('--memory-mib', '512', '--cache-mib', '64')].map(resultsOf)).toEqual(['memory', 'memory'])
  const reports = [
    reportFilesOf([]),
    reportFilesOf(['postgres']),
    reportFilesOf(['part']),
    reportFilesOf(['cache']),
    reportFilesOf(['memory']),
  ]
  expect(reports.map(({ results }) => results)).toEqual(['latest.json', 'postgres.json', 'part.json', 'cache.json', 'memory.json'])
  expect(new Set(reports.flatMap(Object.values)).size).toBe(15)
})

test.for([['prat'], ['part', 'x'], ['--part']])('a report is not made for %j', (argv) => {
  expect(() => reportFilesOf(argv)).toThrow(/names no report/)
})
