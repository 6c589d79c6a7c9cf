/** Before each test file: properties draw from the seed of the run. */
import fc from 'fast-check'

fc.configureGlobal({ seed: Number(process.env.FOLIO_SEED) })
