/** Stories for an engine and the reference model: appends, reopenings and rollbacks in any order, with queries between. */
import fc from 'fast-check'
import { type CloseShape, closeOf, closeShape, firstLedger } from '../../adapters/testing/arbitraries.ts'
import { type RequestDraw, requestDraw, requestOf } from '../../adapters/testing/arbitrary-requests.ts'
import { naiveLedger } from '../../adapters/testing/naive-ledger.ts'
import { openLedger } from '../../src/index.ts'
import type { Bench } from '../support/benches.ts'
import { agree } from '../support/model.ts'

type Step =
  | { readonly do: 'append'; readonly shapes: readonly CloseShape[]; readonly batch: number }
  | { readonly do: 'ask'; readonly draws: readonly RequestDraw[] }
  | { readonly do: 'reopen'; readonly fileEvery: number }
  | { readonly do: 'rollback'; readonly back: number }

const append = fc.record({
  do: fc.constant('append' as const),
  shapes: fc.array(closeShape, { minLength: 1, maxLength: 3 }),
  batch: fc.constantFrom(1, 2, 5),
})
const ask = fc.record({ do: fc.constant('ask' as const), draws: fc.array(requestDraw, { minLength: 20, maxLength: 40 }) })
/** How many records wait in memory before they are filed: one, a few, many, all. */
const fileEvery = fc.constantFrom(1, 12, 150, 32_768)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: append },
  { weight: 4, arbitrary: ask },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reopen' as const), fileEvery }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rollback' as const), back: fc.nat(4) }) },
)
export const story = fc
  .tuple(firstLedger, fileEvery, append, fc.array(step, { maxLength: 6, size: 'max' }), ask)
  .map(([first, fileEvery, begin, steps, end]) => ({ first, fileEvery, steps: [begin, ...steps, end] as Step[] }))

/**
 * Plays a story on an engine and on the model, which must agree throughout.
 * @param times how often each query is asked
 */
export async function tell(
  bench: Bench,
  { first, fileEvery, steps }: { first: number; fileEvery: number; steps: readonly Step[] },
  times = 1,
): Promise<void> {
  const { open, remove } = await bench.fresh()
  let ledger = await openLedger(open(), { ...bench.options, fileEvery })
  try {
    const model = naiveLedger()
    for (const [salt, step] of steps.entries()) {
      if (step.do === 'append') {
        let { last: at = first - 1, hash } = ledger.head ?? {}
        const closes = step.shapes.map((one) => {
          const close = closeOf(one, ++at, hash, salt % 2)
          hash = close.ledger.hash
          return close
        })
        await ledger.ingest(closes, { batch: step.batch, durable: false })
        for (const close of closes) model.append(close)
      } else if (step.do === 'ask')
        for (const drawn of step.draws) for (let time = 0; time < times; time++) await agree(ledger, model, requestOf(model, drawn))
      else if (step.do === 'reopen') {
        await ledger.close()
        ledger = await openLedger(open(), { ...bench.options, fileEvery: step.fileEvery })
      } else if (ledger.head) {
        const to = Math.max(0, ledger.head.last - step.back)
        await ledger.rollback(to)
        model.rollback(to)
      }
    }
  } finally {
    await ledger.close()
    await remove()
  }
}
