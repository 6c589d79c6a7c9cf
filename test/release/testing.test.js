/** The property kit as shipped, under the runner of Node: after `npm run build`, `node --test test/release/*.test.js`. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { catalogue, openLedger } from 'ledger-folio'
import { memory, memoryDisk } from 'ledger-folio/memory'
import { closeChain, naiveLedger, pagingLaws, storeConformance } from 'ledger-folio/testing'

const check = (laws) => {
  for (const law of laws) test(law.name, { skip: law.skip ?? false }, law.run)
}

describe('a store', () => {
  const disks = new WeakMap()
  const open = (disk) => {
    const store = memory(disk)
    disks.set(store, disk)
    return store
  }
  check(storeConformance({ open: () => open(memoryDisk()), reopen: (store) => open(disks.get(store)) }))
})

test('a store that cuts values is rejected', async () => {
  const cut = ([key, value]) => [key, value?.subarray(0, 65_535)]
  const open = () => {
    const store = memory()
    return { ...store, write: (batch, options) => store.write(batch.map(cut), options) }
  }
  const law = storeConformance({ open }).find(({ name }) => name.startsWith('values of any size'))
  await assert.rejects(law.run(), /expected/)
})

/** The operations of a random network as a paged API, and as the reference model has them. */
async function listing(closes) {
  const ledger = await openLedger(memory())
  await ledger.ingest(closes)
  const operations = naiveLedger(closes).list('operations', {})
  return {
    page: (cursor, order, limit) => ledger.page(catalogue.operations, {}, { cursor, order, limit }),
    token: (record) => record.paging_token,
    records: () => operations.map(({ record }) => record),
  }
}

test('the laws of paging hold for any network', async () => {
  const property = fc.asyncProperty(closeChain, async (closes) => {
    const api = await listing(closes)
    for (const law of pagingLaws({ open: () => api, window: 30, cases: 50 })) await law.run()
  })
  await fc.assert(property, { numRuns: 5 })
})
