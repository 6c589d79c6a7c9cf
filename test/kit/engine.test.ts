/** The laws of paging over the engine: any listing of any network, over every store, while ledgers are appended. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  closeChain,
  isRefusal,
  naiveLedger,
  type PagedListing,
  pagingLaws,
  type RequestDraw,
  requestDraw,
  requestOf,
} from '../../adapters/testing/index.ts'
import { catalogue, type LedgerClose, type List, openLedger } from '../../src/index.ts'
import { type Bench, levelBench, memoryBenches } from '../support/benches.ts'
import { holds } from '../support/property.ts'

/** A network, of which the first ledger is there and the rest is appended meanwhile, and draws of a few of its listings. */
const story = fc.tuple(
  closeChain.filter((closes) => closes.length > 1),
  fc.array(requestDraw, { minLength: 4, maxLength: 4 }),
)

async function keepsTheLaws(bench: Bench, [closes, draws]: readonly [LedgerClose[], RequestDraw[]]): Promise<number> {
  const { open, remove } = await bench.fresh()
  const ledger = await openLedger(open(), bench.options)
  const model = naiveLedger()
  const rest = [...closes]
  const grow = async (): Promise<void> => {
    const close = rest.shift()
    if (close === undefined) return
    await ledger.append(close, { durable: false })
    model.append(close)
  }
  let checked = 0
  try {
    await grow()
    for (const drawn of draws) {
      const { query, values } = requestOf(model, drawn)
      const row = catalogue[query] as List
      if (row.kind !== 'list' || isRefusal(model.list(query, values))) continue
      const listing: PagedListing<any> = {
        page: (cursor, order, limit) => ledger.page(row, values, { cursor, order, limit }),
        token: ({ paging_token }) => paging_token,
        records: () => {
          const list = model.list(query, values)
          return isRefusal(list) ? [] : list.map(({ record }) => record)
        },
        // Offers are the current book, which does not only grow.
        ...(query !== 'offersOfAccount' && { grow }),
      }
      for (const law of pagingLaws({ open: () => listing, window: 25, cases: 40 })) await law.run()
      checked++
    }
  } finally {
    await ledger.close()
    await remove()
  }
  return checked
}

describe('every listing keeps the laws of paging', () => {
  test.each([...memoryBenches, levelBench()].map((bench) => [bench.name, bench] as const))('over %s', async (_, bench) => {
    let checked = 0
    await holds(story, 20, async (told) => {
      checked += await keepsTheLaws(bench, told)
    })
    expect(checked).toBeGreaterThan(0)
  })
})
