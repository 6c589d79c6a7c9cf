/** What the package holds, to the file: after `npm run build`, `node --test test/release/*.test.js`. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'

const ways = ['cli', 'generate', 'http', 'index', 'level', 'memory', 'ndjson', 'testing']

test('the package holds its doors, what they share, and nothing else', () => {
  const root = new URL('../..', import.meta.url)
  const told = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const files = JSON.parse(told)[0].files.map(({ path }) => path)
  // What is shared has a hash in its name, and how much of it there is is no matter.
  const isShared = (path) => /^dist\/(chunk-\w{8}\.js|[\w-]+-[\w-]{8}\.d\.ts)$/.test(path)
  const doors = ways.flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`])
  assert.deepEqual(files.filter((path) => !isShared(path)).sort(), ['LICENSE', 'README.md', 'SECURITY.md', 'package.json', ...doors].sort())
})
