/**
 * Mutation scores of src/ (`npm run mutate`, or `npm run mutate -- --mutate src/tuple.ts`): how many small faults the tests see.
 * Hours for all of it; docs/testing.md has the scores. Not a part of continuous integration.
 */
export default {
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'vitest.mutate.config.ts', related: false },
  mutate: ['src/**/*.ts', '!src/index.ts'],
  coverageAnalysis: 'perTest',
  concurrency: 1,
  timeoutMS: 20_000,
  tempDirName: 'node_modules/.cache/stryker',
  incrementalFile: 'node_modules/.cache/stryker-incremental.json',
  ignorePatterns: ['bench', 'dist', 'data', 'docs'],
  reporters: ['progress-append-only', 'clear-text', 'json'],
  clearTextReporter: { allowColor: false, logTests: false, allowEmojis: false },
  jsonReporter: { fileName: 'node_modules/.cache/mutation.json' },
  thresholds: { high: 95, low: 85, break: 85 },
}
