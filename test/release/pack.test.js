/** What the package holds, to the file: after `npm run build`, `node --test test/release/*.test.js`. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { posix } from 'node:path'
import { test } from 'node:test'

const ways = ['cli', 'generate', 'http', 'index', 'level', 'lmdb', 'memory', 'ndjson', 'testing']

const root = new URL('../..', import.meta.url)
const told = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
  cwd: root,
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'ignore'],
})
const files = JSON.parse(told)[0].files.map(({ path }) => path)

test('the package holds its doors, what they share, its documentation, and nothing else', () => {
  // Shared files have a hash in their name, and how many there are does not matter.
  const isShared = (path) => /^dist\/(chunk-\w{8}\.js|[\w-]+-[\w-]{8}\.d\.ts)$/.test(path)
  const isPage = (path) => /^docs\/[\w-]+\.md$/.test(path)
  const doors = ways.flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`])
  const pages = ['README.md', 'SECURITY.md', 'bench/README.md', 'src/README.md']
  const licences = ['LICENSE', 'dist/typebox.license.txt']
  assert.deepEqual(
    files.filter((path) => !isShared(path) && !isPage(path)).sort(),
    ['package.json', ...licences, ...pages, ...doors].sort(),
  )
})

test('a door is opened by loading a few files', () => {
  const hooks = `import { writeSync } from 'node:fs'
    export const load = (url, context, next) => { writeSync(2, url + '\\n'); return next(url, context) }`
  const program = `require('node:module').register('data:text/javascript,' + ${JSON.stringify(encodeURIComponent(hooks))}); import('ledger-folio/http')`
  const { stderr } = spawnSync(process.execPath, ['-e', program], { cwd: root, encoding: 'utf8' })
  const loaded = stderr.match(/^file:.*$/gm) ?? []
  assert.ok(loaded.some((url) => url.endsWith('/dist/http.js')))
  assert.ok(loaded.length <= 20, loaded.join('\n'))
})

test('every door opens from CommonJS, so no module waits for another', () => {
  const require = createRequire(import.meta.url)
  for (const way of ways.filter((name) => name !== 'cli'))
    assert.ok(Object.keys(require(`ledger-folio${way === 'index' ? '' : `/${way}`}`)).length > 0, way)
})

test('every door opens, and folio works, without what fetches, which Node lacks with --jitless', () => {
  const deny = `for (const name of ['fetch', 'Headers', 'Request', 'Response'])
    Object.defineProperty(globalThis, name, { get() { throw new Error('it needs ' + name) } })`
  const denied = (...argv) =>
    execFileSync(process.execPath, ['--import', `data:text/javascript,${encodeURIComponent(deny)}`, ...argv], {
      cwd: root,
      encoding: 'utf8',
    })
  const doors = ways.filter((name) => name !== 'cli').map((way) => `ledger-folio${way === 'index' ? '' : `/${way}`}`)
  denied('--input-type=module', '-e', doors.map((door) => `import '${door}'`).join('\n'))
  assert.match(denied('dist/cli.js', 'generate', '--ledgers', '1', '--seed', '7'), /^\{"ledger"/)
})

test('every relative link of a page in the package leads to a file in it', () => {
  const links = files
    .filter((path) => path.endsWith('.md'))
    .flatMap((page) =>
      Array.from(readFileSync(new URL(page, root), 'utf8').matchAll(/\]\((?!\w+:|#)([^)#]+)/g), ([, to]) => ({
        page,
        to: posix.join(posix.dirname(page), to),
      })),
    )
  assert.ok(links.some(({ page }) => page === 'README.md'))
  assert.deepEqual(
    links.filter(({ to }) => !files.includes(to)),
    [],
  )
})
