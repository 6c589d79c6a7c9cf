/** `npm start`: the first time makes a demo ledger in LevelDB under .demo/, then serves it. Further options go to `folio serve`. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const folio = (args, stdio) => spawn(process.execPath, [at('dist/cli.js'), ...args], { stdio })
const codeOf = async (child) => (await once(child, 'exit'))[0] ?? 1

const demo = at('.demo/ledger')
// Made aside and moved when whole, so that an interrupted first start leaves no half demo.
const draft = at('.demo/draft')

if (!existsSync(demo)) {
  rmSync(draft, { recursive: true, force: true })
  console.error('making a demo ledger in .demo/ (once)')
  const made = folio(['generate', '--ledgers', '500', '--seed', 'demo'], ['ignore', 'pipe', 'inherit'])
  const taken = folio(['ingest', '--data', draft, '--batch', '100', '-'], ['pipe', 'inherit', 'inherit'])
  made.stdout.pipe(taken.stdin)
  const code = await codeOf(taken)
  if (code !== 0) process.exit(code)
  renameSync(draft, demo)
}

const server = folio(['serve', '--data', demo, ...process.argv.slice(2)], 'inherit')
// A terminal sends its signals to both; the server decides when it is done.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => server.kill(signal))
process.exitCode = await codeOf(server)
