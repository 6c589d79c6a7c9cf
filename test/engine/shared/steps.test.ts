/** Reads of a process that shares its store, while it removes ledgers itself in several steps. */
import { expect, test } from 'vitest'
import { generate } from '../../../adapters/generate/index.ts'
import { memory } from '../../../adapters/memory/index.ts'
import { catalogue, type LedgerClose, openLedger, type Store } from '../../../src/index.ts'
import { shared } from '../../support/dump.ts'
import { turns } from '../../support/turns.ts'

const FIRST = 70
const closes = [
  ...generate({ ledgers: 20, seed: 8, transactionsPerLedger: 3, firstLedger: FIRST, envelopeBytes: 30 }),
] as readonly LedgerClose[]

/** A store that processes share, in which a batch can be seen some time before whoever wrote it is told. */
function held() {
  const real = memory()
  const told: (() => void)[] = []
  const gate = { isShut: false }
  const store: Store = Object.assign(shared(real), {
    write: async (...given: Parameters<Store['write']>) => {
      await real.write(...given)
      if (gate.isShut) await new Promise<void>((resolve) => told.push(resolve))
    },
  })
  return { store, told, gate }
}

test('a read that comes upon a step that is stored and not known yet waits for that step alone', async () => {
  const { store, told, gate } = held()
  const ledger = await openLedger(store, { cacheBytes: 2 ** 20, fileEvery: 40, pollMs: 2 ** 30 })
  await ledger.ingest(closes)
  gate.isShut = true
  let isOver = false
  const rollback = ledger.rollback(FIRST + 3).then(() => {
    isOver = true
  })
  await expect.poll(() => told.length).toBe(1)
  let found: number | undefined
  const read = ledger.page(catalogue.ledgers, {}, { order: 'desc', limit: 1 }).then(({ records }) => {
    found = records[0]!.sequence
  })
  await turns(20)
  expect(found).toBeUndefined()
  told[0]!()
  await expect.poll(() => told.length).toBe(2)
  // It meets the next step too, unless it was quick.
  for (let next = 1; found === undefined && next < 20; next++) {
    await turns(20)
    if (found === undefined) told[next]?.()
  }
  await read
  expect(isOver).toBe(false)
  expect(found).toBeGreaterThan(FIRST + 3)
  gate.isShut = false
  for (const tell of told) tell()
  await rollback
  await ledger.close()
})
