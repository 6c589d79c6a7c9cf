/** The tests that mutants are tried on: those of the engine and of what is built on it, without processes, sockets and clocks. */
import { defineConfig, mergeConfig } from 'vitest/config'
import config from './vitest.config.ts'

export default mergeConfig(
  config,
  defineConfig({
    test: {
      include: ['test/engine/**/*.test.ts', 'test/tuple.test.ts', 'test/shared.test.ts', 'test/rollback.test.ts', 'test/stream.test.ts'],
      // A mutant is run for as long as its tests take: cases are few, and the same each time.
      env: { FC_RUNS: '8', FC_SEED: '7', FOLIO_SEED: '7' },
    },
  }),
)
