/**
 * The tests that mutants are tried on: those of the engine, without processes, sockets and clocks. `MUTATE_TESTS` names others, since a mutant
 * in a table is tried on all of them.
 */
import { defineConfig, mergeConfig } from 'vitest/config'
import config from './vitest.config.ts'

const base = config.test!
const { MUTATE_TESTS = 'test/engine/**/*.test.ts test/tuple.test.ts test/rollback.test.ts test/stream.test.ts' } = process.env

export default mergeConfig(
  { ...config, test: { ...base, include: MUTATE_TESTS.split(' ') } },
  // A mutant is run for as long as its tests take: cases are few, and the same each time.
  defineConfig({ test: { env: { FC_RUNS: '8', FC_SEED: '7', FOLIO_SEED: '7' } } }),
)
