/** What is built: one file for each subpath of the package and the command line, with what they share in chunks, and their types. */
import { existsSync } from 'node:fs'
import { defineConfig } from 'tsup'

const entry = {
  index: 'src/index.ts',
  memory: 'adapters/memory/index.ts',
  level: 'adapters/level/index.ts',
  http: 'adapters/http/index.ts',
  ndjson: 'adapters/ndjson/index.ts',
  generate: 'adapters/generate/index.ts',
  cli: 'adapters/cli/index.ts',
}

export default defineConfig({
  entry: Object.fromEntries(Object.entries(entry).filter(([, file]) => existsSync(file))),
  format: 'esm',
  target: 'node20',
  clean: true,
  treeshake: true,
  // The d.ts build sets an option that TypeScript 6 calls deprecated.
  dts: { compilerOptions: { ignoreDeprecations: '6.0' } },
})
