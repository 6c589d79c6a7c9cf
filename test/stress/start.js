/** Builds the stress runner and starts it: `npm run stress`, `npm run stress -- --only kill --scale 0.1`. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'tsup'

const here = fileURLToPath(new URL('.', import.meta.url))
// Within the package, so that its dependencies are found.
const cache = join(here, '../../node_modules/.cache')
mkdirSync(cache, { recursive: true })
const outDir = mkdtempSync(join(cache, 'stress-'))
process.on('exit', () => rmSync(outDir, { recursive: true, force: true }))
await build({
  entry: { run: join(here, 'run.ts') },
  outDir,
  config: false,
  format: 'esm',
  target: 'node20',
  external: [/^[^./]/],
  silent: true,
})
await import(join(outDir, 'run.js'))
