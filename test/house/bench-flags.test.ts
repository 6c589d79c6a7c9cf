/** What `npm run bench` and its report are told: what is wrong is said, before anything is measured or written. */
import { expect, test } from 'vitest'
import { flagsOf, reportFilesOf, WrongFlag } from '../../bench/flags.ts'

const names = ['page transactions', 'http transactions', 'scan']

test('flags are read', () => {
  expect(flagsOf([], names)).toEqual({ quick: false })
  expect(flagsOf(['--quick', '--only', 'http', '--rounds', '12'], names)).toEqual({ quick: true, only: 'http', rounds: 12 })
})

test.for([
  [['--rounds', 'abc'], '--rounds must be a whole number from 1 to 9999, not abc'],
  [['--rounds', '0'], '--rounds must be a whole number from 1 to 9999, not 0'],
  [['--only', 'nothing'], '--only nothing names nothing; there is: page transactions; http transactions; scan'],
  [['--wrong'], "Unknown option '--wrong'. The flags are --quick, --only TEXT, --rounds N"],
] as const)('%j is wrong', ([argv, says]) => {
  expect(() => flagsOf(argv, names)).toThrow(new WrongFlag(says))
})

test('the report of a part leaves that of the last whole run as it is', () => {
  const [whole, part] = [reportFilesOf([]), reportFilesOf(['part'])]
  expect(whole).toEqual({ isPart: false, results: 'latest.json', page: 'report.html', table: 'table.md' })
  expect(part.isPart).toBe(true)
  expect(Object.values(whole).filter((file) => Object.values(part).includes(file))).toEqual([])
})

test.for([['prat'], ['part', 'x'], ['--part']])('a report is not made for %j', (argv) => {
  expect(() => reportFilesOf(argv)).toThrow(/names no report/)
})
