/**
 * Mutation scores of src/ (`npm run mutate`, or `npm run mutate -- --mutate src/tuple.ts`): how many small faults the tests see.
 * test/mutants/README.md has the scores. Not a part of continuous integration.
 */
export default {
  testRunner: 'folio',
  plugins: ['./test/mutants/runner.js'],
  mutate: ['src/**/*.ts', '!src/index.ts'],
  coverageAnalysis: 'perTest',
  concurrency: 1,
  timeoutMS: 1_500,
  tempDirName: 'node_modules/.cache/stryker',
  incrementalFile: 'node_modules/.cache/stryker-incremental.json',
  ignorePatterns: ['bench', 'dist', 'data'],
  reporters: ['progress-append-only', 'clear-text', 'json'],
  clearTextReporter: { allowColor: false, logTests: false, allowEmojis: false },
  jsonReporter: { fileName: 'node_modules/.cache/mutation.json' },
  thresholds: { high: 95, low: 85, break: 85 },
}
