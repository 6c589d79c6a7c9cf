/**
 * How tests run: one seed for all properties, printed, so that a failure can be had again with `FOLIO_SEED=… npm test`; with `--mode narrow`, some of
 * them over the sources with small bounds.
 */
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { narrow, narrowTests } from './test/support/narrow.ts'

const seed = Number(process.env.FOLIO_SEED ?? Math.floor(Math.random() * 2 ** 31))
// Read again by workers, and by this file when it is loaded twice.
if (process.env.FOLIO_SEED === undefined) console.log(`seed of the properties: FOLIO_SEED=${seed}`)
process.env.FOLIO_SEED = String(seed)

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

export default defineConfig(({ mode }) => ({
  plugins: mode === 'narrow' ? [narrow(here('.'))] : [],
  resolve: {
    // Examples import the package by its name; tests run them from the sources.
    alias: [
      { find: /^ledger-folio$/, replacement: here('src/index.ts') },
      { find: /^ledger-folio\/(.+)$/, replacement: here('adapters/$1/index.ts') },
    ],
  },
  test: {
    include: mode === 'narrow' ? narrowTests : ['test/**/*.test.ts'],
    setupFiles: ['test/support/setup.ts'],
    env: { FOLIO_SEED: String(seed) },
    // All cores: on a machine with two, the default is one worker.
    maxWorkers: '100%',
    // Each test file starts with cold code and an empty heap: compiled at its first call, and with room for what is soon garbage, it takes a
    // twentieth to a tenth less.
    execArgv: ['--always-sparkplug', '--max-semi-space-size=64'],
    // As one file: each test file would load the 700 that it is as a package.
    deps: { optimizer: { ssr: { enabled: true, include: ['typebox', 'typebox/schema'] } } },
    // For what hangs, not for what is slow: on a machine that does much else, a test takes twenty times as long as it should.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 10_000 } },
    coverage: { include: ['src/**', 'adapters/**'] },
  },
}))
