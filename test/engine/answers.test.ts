/** Every query, with every value worth asking for, on a few networks: a quick version of the model test. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { closeChain, naiveLedger, type QueryRequest, requestDraw, requestOf, valuesWorthAsking } from '../../adapters/testing/index.ts'
import { catalogue, type QueryName } from '../../src/index.ts'
import { ledgerOf } from '../support/benches.ts'
import { agree } from '../support/model.ts'

const networks = fc.sample(
  closeChain.filter((closes) => closes.reduce((sum, { transactions = [] }) => sum + transactions.length, 0) < 60),
  8,
)

const EACH = 60
// Sampled all at once: separate samples would all draw the same, from the seed of the run.
const draws = fc.sample(requestDraw, networks.length * EACH)

test.each(networks.map((closes, at) => [at, closes] as const))('network %i', async (at, closes) => {
  const model = naiveLedger(closes)
  const ledger = await ledgerOf(closes)
  const values = valuesWorthAsking(model)
  const queries = Object.keys(catalogue) as QueryName[]
  const requests = queries.flatMap((query): QueryRequest[] => {
    const name = /\{(\w+)\}/.exec(catalogue[query].path)?.[1]
    const asked = name === undefined ? [{}] : [...new Set(values[name])].slice(-12).map((value) => ({ [name]: value }))
    return asked.map((one) => ({ query, values: one, options: catalogue[query].kind === 'one' ? {} : { limit: 200 } }))
  })
  const drawn = draws.slice(EACH * at, EACH * (at + 1)).map((one) => requestOf(model, one))
  for (const request of [...requests, ...drawn]) await agree(ledger, model, request)
  expect(requests.length).toBeGreaterThan(100)
})
