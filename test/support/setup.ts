/**
 * Before each test file: properties draw from the seed of the run, and end in time. A property over a store that answers at once does not let the
 * event loop turn, so no timeout of a test would end it while it looks for a smaller case of its failure.
 */
import fc from 'fast-check'

const { FOLIO_SEED, FC_RUNS } = process.env
const inTime = { interruptAfterTimeLimit: 240_000, markInterruptAsFailure: true }
fc.configureGlobal({ seed: Number(FOLIO_SEED), ...(FC_RUNS === undefined && inTime) })
