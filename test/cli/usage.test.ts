/** Usage: help of every command, the version, and what wrong usage says. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { failing, folio } from './support.ts'

test.for(['', 'ingest', 'serve', 'get', 'info', 'verify', 'repair', 'export', 'copy', 'rollback', 'prune', 'check', 'bench', 'generate'])(
  'the help of folio %s',
  async (command) => {
    const { code, out, err } = await folio(command ? [command, '--help'] : ['--help'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/Examples:/)
    expect(out).toMatchSnapshot()
  },
)

test.for([
  ['-h', '--help'],
  ['help', '--help'],
  ['help help', '--help'],
  ['serve -h', 'serve --help'],
  ['help serve', 'serve --help'],
] as const)('folio %s is folio %s', async ([one, other]) => {
  expect(await folio(one.split(' '))).toEqual(await folio(other.split(' ')))
})

test.for(['--help', '--version', 'help serve', 'serve --help'])('folio %s fails where nothing can be written', async (line) => {
  const argv = line.split(' ')
  expect(await folio(argv, { stdout: failing('ENOSPC') })).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^folio: cannot be written: /),
  })
  expect(await folio(argv, { stdout: failing('EPIPE') })).toMatchObject({ code: 141, err: '' })
})

test.for(['serve', 'bench'])('the help of %s shows defaults as they would be typed', async (command) => {
  expect((await folio([command, '--help'])).out).not.toMatch(/default: [{[]/)
})

test('the version is that of the package', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(await folio(['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' })
})

const wrong: [argv: string[], says: RegExp][] = [
  [[], /^Usage: folio/],
  [['swim'], /^folio: unknown command 'swim'/],
  [['swim', '--help'], /^folio: unknown command 'swim'/],
  [['help', 'swim'], /^folio: unknown command 'swim'/],
  [['help', 'verfy'], /^folio: unknown command 'verfy'\n\(Did you mean verify\?\)/],
  [['ingest', '--data', 'x'], /^folio: missing required argument 'file'/],
  [['ingest', 'x.ndjson'], /^folio: required option '--data <dir>' not specified/],
  // What is missing because of a misspelt option is not reported before it.
  ...['ingest x', 'get /', 'info', 'verify', 'repair', 'export', 'rollback --to 5', 'prune --before 5'].flatMap((command): typeof wrong => [
    [[...command.split(' '), '--dat', 'x'], /^folio: unknown option '--dat'\n\(Did you mean --data\?\)/],
    [[...command.split(' '), '--dta=x'], /^folio: unknown option '--dta'\n\(Did you mean --data\?\)/],
  ]),
  [['copy', '--form', 'x', '--to', 'y'], /^folio: unknown option '--form'\n\(Did you mean --from\?\)/],
  [['rollback', '--data', 'x', '--too', '5'], /^folio: unknown option '--too'\n\(Did you mean --to\?\)/],
  [['prune', '--data', 'x', '--befor', '5'], /^folio: unknown option '--befor'\n\(Did you mean --before\?\)/],
  [['generate', '--ledger', '5', '--seed', '1'], /^folio: unknown option '--ledger'\n\(Did you mean --ledgers\?\)/],
  // Nor is an option taken for the value of the one before it.
  [['ingest', '--data', '--batch', '100', '-'], /^folio: option '--data <dir>' argument missing/],
  [['export', '--out', '--data=x'], /^folio: option '--out <file>' argument missing/],
  [['rollback', '--to', '5', '--data', '--help'], /^folio: option '--data <dir>' argument missing/],
  [['--data', 'x', 'ingest', '-'], /^folio: option '--data' comes after the command/],
  [['--data=x', 'serve'], /^folio: option '--data' comes after the command/],
  [['--dat', 'x', 'serve'], /^folio: unknown option '--dat'/],
  [['ingest', '--data', '', '-'], /argument '' is invalid. It must name a directory/],
  [['ingest', '--data', 'x', '--network', '', '-'], /option '--network <name>' argument '' is invalid. It must not be empty/],
  [['serve', '--data', 'x', '--host', ''], /option '--host <address>' argument '' is invalid. It must not be empty/],
  [['serve', '--data', 'x', '--ingest', ''], /option '--ingest <file>' argument '' is invalid. It must not be empty/],
  [['export', '--data', 'x', '--out', ''], /option '--out <file>' argument '' is invalid. It must not be empty/],
  [['generate', '--ledgers', '1', '--seed', ''], /option '--seed <text>' argument '' is invalid. It must not be empty/],
  [['bench', '--seed', ''], /option '--seed <seed>' argument '' is invalid. It must not be empty/],
  [['bench', '--data', ''], /option '--data <file>' argument '' is invalid. It must not be empty/],
  [
    ['ingest', '--data', 'x', '--batch', '0', '-'],
    /^folio: option '--batch <ledgers>' argument '0' is invalid. It must be a whole number from 1/,
  ],
  [['ingest', '--data', 'x', '--store', 'memory', '-'], /argument 'memory' is invalid. Allowed choices are level, lmdb/],
  [['serve'], /^folio: --data <dir> is needed with --store level/],
  [['serve', '--data', 'x', '--port', '0x10'], /argument '0x10' is invalid/],
  [['serve', '--data', 'x', '--base-url', 'example.org'], /It must be like https:\/\/example.org\/path/],
  [
    ['serve', '--data', 'x', '--base-url', 'https://u:p@example.org'],
    /argument 'https:\/\/\*\*\*@example.org' is invalid. It must be like /,
  ],
  [['check', 'ftp://u:p@example.org'], /value 'ftp:\/\/\*\*\*@example.org' is invalid/],
  [['serve', '--store', 'memory', '--data', 'x'], /^folio: --data <dir> cannot be used with --store memory, which keeps nothing/],
  [['copy', '--from', 'x', '--to', 'memory:'], /argument 'memory:' is invalid. memory keeps nothing when the command ends/],
  [['copy', '--from', 'x', '--to', 'level:'], /argument 'level:' is invalid. It must name a directory/],
  [['copy', '--from', '', '--to', 'y'], /argument '' is invalid. It must name a directory/],
  [['copy', '--from', 'memory:x', '--to', 'y'], /argument 'memory:x' is invalid/],
  [
    ['copy', '--from', 'x', '--to', 'levl:./y'],
    /argument 'levl:.\/y' is invalid. levl is not a kind of store; there is level, lmdb. A directory of this name is .\/levl:.\/y/,
  ],
  [['copy', '--from', 'file:///x', '--to', 'y'], /file is not a kind of store/],
  [['ingest', '--data', 'level:./x', '-'], /argument 'level:.\/x' is invalid. It must be a directory alone: --store names the kind/],
  [['verify', '--data', 'foo:bar'], /a directory of this name is .\/foo:bar/],
  [['serve', '--data', 'x', '--limit', 'maxStreams=-1'], /invalid. maxStreams must be a whole number from 0 to 1000000\./],
  [['serve', '--data', 'x', '--limit', 'maxStreams=abc'], /invalid. maxStreams must be a whole number from 0 to 1000000\./],
  [['serve', '--data', 'x', '--limit', 'maxStreams=99999999'], /invalid. maxStreams must be a whole number from 0 to 1000000\./],
  [['serve', '--data', 'x', '--limit', 'maxStream=5'], /It must be name=number, the name one of .*maxStreams/],
  [['serve', '--data', 'x', '--limit', 'maxStreams'], /It must be name=number, the name one of /],
  [['generate', '--ledgers', '5'], /^folio: required option '--seed <text>' not specified/],
  [
    ['generate', '--ledgers', '2000000000', '--seed', '1', '--first-ledger', '2000000000'],
    /^folio: --first-ledger must be a whole number from 1 to 147483647/,
  ],
  [['generate', '--ledgers', '1e3', '--seed', '1'], /argument '1e3' is invalid. It must be a number in decimal digits, 16 of them at most/],
  [['get', '/a', '/b', '--data', 'x'], /^folio: too many arguments/],
  [['check', 'example.org'], /It must be like https:\/\/example.org\/path/],
  [['check', 'http://localhost', '--window', '2'], /It must be a whole number from 3/],
]

test.for(wrong)('folio %j is wrong usage', async ([argv, says]) => {
  const { code, out, err } = await folio(argv)
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toMatch(says)
})

test('what looks like an option is a value where it is joined to its option', async () => {
  const { code, out } = await folio(['generate', '--ledgers', '1', '--seed=--ledgers', '--accounts', '16'])
  expect([code, out]).toEqual([0, expect.stringMatching(/^\{/)])
  expect(await folio(['generate', '--ledgers', '1', '--seed', 'x', '--', '--help'])).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^folio: too many arguments/),
  })
})

test('a drive of Windows is not a kind of store', async () => {
  expect(await folio(['verify', '--data', 'C:\\nowhere'])).toMatchObject({ code: 3, err: expect.stringMatching(/^folio: STORE_MISSING: /) })
})
