/**
 * What is built: one file for each subpath of the package and the command line, with what they share in chunks, and their types. TypeBox is among the
 * development dependencies, and therefore in the chunks: as a package it is 700 files, which take five times as long to load as all of ours.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { defineConfig } from 'tsup'

const entry = {
  index: 'src/index.ts',
  memory: 'adapters/memory/index.ts',
  level: 'adapters/level/index.ts',
  lmdb: 'adapters/lmdb/index.ts',
  http: 'adapters/http/index.ts',
  ndjson: 'adapters/ndjson/index.ts',
  generate: 'adapters/generate/index.ts',
  testing: 'adapters/testing/index.ts',
  cli: 'adapters/cli/index.ts',
}

const LISTS = /^export \{([^}]*)\}/gm
const namesIn = (list: string): string[] => list.split(',').map((name) => name.trim())
/** The name under which `A as B`, or `A`, is exported. */
const given = (name: string): string => name.split(' ').at(-1)!

/**
 * A class whose type alone is exported is declared as a value by the bundler of declarations, and importing it would compile and then fail. So what
 * the JavaScript of a door does not export is made `type` again.
 */
function restoreTypes(door: string): void {
  const path = `dist/${door}.d.ts`
  if (!existsSync(path)) return
  const values = new Set(
    Array.from(readFileSync(`dist/${door}.js`, 'utf8').matchAll(LISTS), ([, list]) => namesIn(list!).map(given)).flat(),
  )
  const typed = (name: string): string => (name === '' || name.startsWith('type ') || values.has(given(name)) ? name : `type ${name}`)
  const text = readFileSync(path, 'utf8')
  writeFileSync(
    path,
    text.replaceAll(LISTS, (_, list: string) => `export { ${namesIn(list).map(typed).join(', ')} }`),
  )
}

// At the very end: declarations are made beside the rest, and `onSuccess` does not wait for them.
process.once('exit', (code) => {
  if (code === 0) Object.keys(entry).forEach(restoreTypes)
})

export default defineConfig({
  entry,
  format: 'esm',
  target: 'node20',
  clean: true,
  treeshake: true,
  onSuccess: () => copyFile('node_modules/typebox/license', 'dist/typebox.license.txt'),
  dts: {
    // For `Symbol.asyncDispose`, which programs without the types of Node may not know.
    banner: '/// <reference lib="esnext.disposable" />',
    // The d.ts build sets an option that TypeScript 6 calls deprecated.
    compilerOptions: { ignoreDeprecations: '6.0', stripInternal: true },
  },
})
