/**
 * What is built: one file for each subpath of the package and the command line, with what they share in chunks, and their types. TypeBox is among the
 * development dependencies, and therefore in the chunks: as a package it is 700 files, which take five times as long to load as all of ours.
 */
import { copyFile } from 'node:fs/promises'
import { defineConfig } from 'tsup'

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    memory: 'adapters/memory/index.ts',
    level: 'adapters/level/index.ts',
    lmdb: 'adapters/lmdb/index.ts',
    http: 'adapters/http/index.ts',
    ndjson: 'adapters/ndjson/index.ts',
    generate: 'adapters/generate/index.ts',
    testing: 'adapters/testing/index.ts',
    cli: 'adapters/cli/index.ts',
  },
  format: 'esm',
  target: 'node20',
  clean: true,
  treeshake: true,
  onSuccess: () => copyFile('node_modules/typebox/license', 'dist/typebox.license.txt'),
  dts: {
    // For `Symbol.asyncDispose`, which programs without the types of Node may not know.
    banner: '/// <reference lib="esnext.disposable" />',
    // The d.ts build sets an option that TypeScript 6 calls deprecated.
    compilerOptions: { ignoreDeprecations: '6.0' },
  },
})
