/** The README tells the truth: its code blocks are the files of examples/, its tables are derived from the code. `UPDATE_DOCS=1` rewrites them. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { generateLines } from '../../adapters/generate/index.ts'
import { problems } from '../../adapters/http/index.ts'
import { catalogue, type ErrorCode, errorTable } from '../../src/index.ts'
import { read, same, withExamples } from '../support/docs.ts'

/** The text of a file between two marks, replaced. */
const between = (text: string, open: string, close: string, inner: string): string => {
  const [from, to] = [text.indexOf(open), text.indexOf(close)]
  expect(from, open).toBeGreaterThanOrEqual(0)
  return `${text.slice(0, from + open.length)}\n${inner}\n${text.slice(to)}`
}

const queries = (): string => {
  const rows = Object.entries(catalogue).map(([name, query]) => {
    const what = query.kind === 'one' ? `one ${query.of.name}` : `page of ${query.of.name}s${query.live ? ', stream' : ''}`
    return `| \`${name}\` | \`${query.path}\` | ${what} |`
  })
  return ['', '| query | path | gives |', '|---|---|---|', ...rows, ''].join('\n')
}

test('the README shows the example files and the rows of the catalogue', () => {
  const blocks = withExamples(read('README.md'))
  same('README.md', between(blocks, '<!-- queries -->', '<!-- /queries -->', queries()))
})

test.each(['docs/embedding.md', 'docs/input.md', 'docs/running.md'])('%s shows the examples', (path) =>
  same(path, withExamples(read(path))),
)

/** What an example must have printed, at the least. */
test.each([
  ['library', / paid \d+ \w+ to G/],
  ['stream', /^(\d+) of \1 ledgers/],
  ['errors', /^LEDGER_GAP /],
  ['files', /^3 ledgers appended, 0 were there/],
  ['operations', /^\d+ of \w+ to G/],
  ['view', /^\d+ memos in 20 ledgers$/],
  ['ndjson', /^\d+ 20 \d+$/],
  ['again', /^CLOSED reopen$/],
  ['backup', /^the backup of ledgers 2100000 to 2100019 is equal$/],
])('examples/%s.ts runs to its end', async (name, wanted) => {
  const [before, scratch] = [process.cwd(), mkdtempSync(join(tmpdir(), 'folio-example-'))]
  const said = vi.spyOn(console, 'log').mockImplementation(() => {})
  process.chdir(scratch)
  writeFileSync('closes.ndjson', `${[...generateLines({ ledgers: 3, seed: 7 })].join('\n')}\n`)
  try {
    await import(`../../examples/${name}.ts`)
    expect(said.mock.calls.map((words) => words.join(' ')).filter((line) => wanted.test(line))).not.toEqual([])
  } finally {
    said.mockRestore()
    process.chdir(before)
    rmSync(scratch, { recursive: true, force: true })
  }
})

test('docs/errors.md has a heading for every error code, with its fields', () => {
  const sections = Object.entries(errorTable).map(([code, row]) => {
    const again = 'retry' in row ? ` Worth another try once ${row.retry}: \`recovery\` is \`'${row.recovery}'\`.` : ''
    const fields = Object.entries(row.fields).map(([name, what]) => `- \`${name}\`: ${what}\n`)
    return `## ${code}\n\n${row.sentence} HTTP status ${row.status}.${again}\n${fields.length > 0 ? '\n' : ''}${fields.join('')}`
  })
  const page = read('docs/errors.md')
  same('docs/errors.md', page.slice(0, page.indexOf(sections[0]!.split('\n')[0]!)) + sections.join('\n'))
})

test('docs/errors.md has a row for every problem over HTTP, with its status', () => {
  const rows = Array.from(read('docs/errors.md').matchAll(/^\| `(\w+)` \| (\d+) \|/gm), ([, name, status]) => [name, Number(status)])
  expect(rows).toEqual(Object.entries(problems).map(([name, { status }]) => [name, status]))
})

/** The names of the members of an object literal; strings, which may hold anything, are skipped. */
const membersOf = (literal: string): string[] =>
  Array.from(literal.replace(/`[^`]*`|'[^']*'/g, '""').matchAll(/(?:^|,)\s*(\w+)\s*(?=[:,]|$)/g), ([, name]) => name!)

test('every field that an error is thrown with is listed with its code', () => {
  const root = new URL('../..', import.meta.url)
  const paths = ['src', 'adapters'].flatMap((folder) =>
    readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  )
  const thrown = paths
    .filter((path) => path.endsWith('.ts'))
    .flatMap((path) => Array.from(read(path).matchAll(/new FolioError\(\s*'(\w+)',\s*\{((?:`[^`]*`|'[^']*'|[^}])*)\}/g)))
    .flatMap(([, code, literal]) => membersOf(literal!).map((name) => [code as ErrorCode, name] as const))
  expect(thrown.length).toBeGreaterThan(60)
  expect(thrown.filter(([code, name]) => !(name in errorTable[code].fields)).map((one) => one.join(' '))).toEqual([])
})
