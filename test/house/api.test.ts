/** docs/api.md names all that there is to import, to call and to set, and nothing else of ours: read from the exports and the types. */
import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { generateDefaults } from '../../adapters/generate/options.ts'
import { FolioError } from '../../src/index.ts'
import { Ledger } from '../../src/ledger.ts'
import { read } from '../support/docs.ts'

const page = read('docs/api.md')
const { exports } = JSON.parse(read('package.json')) as { exports: Record<string, unknown> }
const ways = Object.keys(exports).filter((way) => !way.endsWith('.json'))

/** The part of the page below a heading. */
function section(heading: string): string {
  const [, rest = ''] = page.split(`\n## ${heading}\n`)
  return rest.split('\n## ')[0]!
}

/** Whatever is between backticks, word by word. */
const namesIn = (text: string): Set<string> =>
  new Set(Array.from(text.matchAll(/`([^`]+)`/g), ([, code]) => code!.match(/\w+/g) ?? []).flat())

/** The names that a module exports, types too. */
function exported(source: string): string[] {
  const lists = Array.from(source.matchAll(/^export (?:type )?\{([^}]*)\}/gm), ([, list]) => list!.split(',')).flat()
  const own = Array.from(source.matchAll(/^export (?:async )?(?:const|class|function\*?|interface|type) (\w+)/gm), ([, name]) => name!)
  const given = lists.map((name) =>
    name
      .trim()
      .replace(/^type /, '')
      .replace(/^\w+ as /, ''),
  )
  return [...given.filter(Boolean), ...own]
}

const sourceOf = (way: string): string => (way === '.' ? 'src/index.ts' : `adapters/${way.slice(2)}/index.ts`)
const headingOf = (way: string): string => `ledger-folio${way.slice(1)}`

test.each(ways)('every export of %s is named in its section', (way) => {
  const named = namesIn(way === '.' ? section('Ledger') + section('FolioError') + section('ledger-folio') : section(headingOf(way)))
  const names = exported(read(sourceOf(way)))
  expect(names.length).toBeGreaterThan(1)
  expect(names.filter((name) => !named.has(name))).toEqual([])
  expect(page).toContain(`](#${headingOf(way).replace('/', '')})`)
})

test('no section describes what cannot be imported', () => {
  const headings = Array.from(page.matchAll(/^## (ledger-folio.*)$/gm), ([, heading]) => heading!)
  expect(headings.sort()).toEqual(ways.map(headingOf).sort())
})

test.each([
  ['Ledger', Ledger, 'src/ledger.ts'],
  ['FolioError', FolioError, 'src/errors.ts'],
] as const)('every member of %s is named', (heading, made, path) => {
  const hidden = Array.from(read(path).matchAll(/(?:private (?:async )?\*?|@internal \*\/\n {2}async )(\w+)/g), ([, name]) => name!)
  const fields = Array.from(read(path).matchAll(/^ {2}readonly (\w+): Error/gm), ([, name]) => name!)
  const members = [...Object.getOwnPropertyNames(made.prototype), ...fields].filter((name) => ![...hidden, 'constructor'].includes(name))
  const named = namesIn(section(heading))
  expect(members.length).toBeGreaterThan(3)
  expect(members.filter((name) => !named.has(name))).toEqual([])
})

/** Where each type of options is declared, and the section that names its members. */
const optionTypes: readonly (readonly [heading: string, path: string, types: readonly string[]])[] = [
  ['Ledger', 'src/options.ts', ['LedgerOptions']],
  ['Ledger', 'src/ingest/batches.ts', ['IngestOptions']],
  ['Ledger', 'src/ingest/close.ts', ['AppendOptions']],
  ['Ledger', 'src/scan/page.ts', ['PageOptions', 'WalkOptions']],
  ['Ledger', 'src/scan/ndjson.ts', ['NdjsonOptions']],
  ['Ledger', 'src/stream/stream.ts', ['StreamOptions']],
  ['Ledger', 'src/audit/range.ts', ['LedgerRange']],
  ['ledger-folio', 'src/audit/report.ts', ['VerifyOptions']],
  ['ledger-folio', 'src/audit/repair.ts', ['RepairOptions']],
  ['ledger-folio', 'src/audit/copy.ts', ['CopyOptions']],
  ['ledger-folio', 'src/audit/describe.ts', ['DescribeOptions']],
  ['ledger-folio/level', 'adapters/level/open.ts', ['LevelOptions']],
  ['ledger-folio/level', 'adapters/directory/report.ts', ['FilesOptions']],
  ['ledger-folio/level', 'adapters/level/salvage.ts', ['SalvageOptions']],
  ['ledger-folio/lmdb', 'adapters/lmdb/open.ts', ['LmdbOptions']],
  ['ledger-folio/ndjson', 'adapters/ndjson/source.ts', ['ByteOptions']],
  ['ledger-folio/ndjson', 'adapters/ndjson/read.ts', ['ReadClosesOptions']],
  ['ledger-folio/ndjson', 'adapters/ndjson/ingest.ts', ['IngestClosesOptions']],
  ['ledger-folio/http', 'adapters/http/options.ts', ['CoreOptions']],
  ['ledger-folio/http', 'adapters/http/node/server.ts', ['ServeOptions']],
  ['ledger-folio/generate', 'adapters/generate/options.ts', ['GenerateOptions']],
  ['ledger-folio/http', 'adapters/http/mount.ts', ['MountOptions']],
]

describe('every option is named', () => {
  const bodyOf = (type: string, path: string): string | undefined =>
    new RegExp(`interface ${type}\\b[^{]*\\{(?:\\n([\\s\\S]*?)\\n)?\\}`).exec(read(path))?.[1]
  const optionsIn = (body: string): string[] => Array.from(body.matchAll(/^ {2}readonly (\w+)\??:/gm), ([, name]) => name!)

  test.each(optionTypes)('%s: %s', (heading, path, types) => {
    const named = namesIn(section(heading))
    for (const type of types) {
      const options = optionsIn(bodyOf(type, path) ?? '')
      expect(options.length, type).toBeGreaterThan(0)
      expect(options.filter((name) => !named.has(name))).toEqual([])
    }
  })

  test('of every type of options that is declared, but for those of stores, of laws and of the command line, which are described elsewhere', () => {
    const elsewhere = ['ScanOptions', 'WriteOptions', 'PagingOptions', 'ServiceOptions', 'CompareOptions']
    const files = ['src', 'adapters'].flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
    )
    const declared = files
      .filter((path) => path.endsWith('.ts') && !path.startsWith('adapters/cli/'))
      .flatMap((path) => Array.from(read(path).matchAll(/^export interface (\w+Options)\b/gm), ([, type]) => [type!, path] as const))
      // Others only put together what is declared elsewhere.
      .filter(([type, path]) => bodyOf(type, path) !== undefined)
      .map(([type]) => type)
    const listed = optionTypes.flatMap(([, , types]) => types).filter((type) => type.endsWith('Options'))
    expect(declared.sort()).toEqual([...listed, ...elsewhere].sort())
  })
})

test('every metric is named, and nothing that is none', () => {
  const metrics = read('adapters/http/metrics.ts')
    .match(/'folio_\w+'/g)!
    .map((name) => name.slice(1, -1))
  const named = section('ledger-folio/http').match(/\bfolio_\w+/g)!
  expect([...named].sort()).toEqual(metrics.sort())
})

test('the defaults of a generated network are those of the code', () => {
  const rows = Array.from(section('ledger-folio/generate').matchAll(/^\| `(\w+)` \| ([\d.,]+) \|/gm), ([, name, value]) => [
    name,
    Number(value!.replaceAll(',', '')),
  ])
  expect(Object.fromEntries(rows)).toEqual(generateDefaults)
})
