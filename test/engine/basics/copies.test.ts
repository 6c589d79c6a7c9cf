/** Two copies of the package in one process, as bundlers make them: what one throws, the other knows. */
import { expect, test, vi } from 'vitest'
import { generate } from '../../../adapters/generate/index.ts'
import { memory } from '../../../adapters/memory/index.ts'
import { FolioError, openLedger } from '../../../src/index.ts'

vi.resetModules()
const copy = await import('../../../src/index.ts')
const { createHandler } = await import('../../../adapters/http/index.ts')

const ledger = await openLedger(memory())
await ledger.ingest(generate({ ledgers: 5, seed: 3 }))

test('an error of either is a FolioError of both, and nothing else is', () => {
  expect(copy.FolioError).not.toBe(FolioError)
  const [own, other] = [new FolioError('CLOSED'), new copy.FolioError('CLOSED')]
  for (const error of [own, other]) {
    expect(error instanceof FolioError).toBe(true)
    expect(error instanceof copy.FolioError).toBe(true)
  }
  for (const no of [new Error('CLOSED'), { code: 'CLOSED' }, null, undefined, 'CLOSED', FolioError])
    expect((no as unknown) instanceof FolioError).toBe(false)
  class Own extends FolioError {}
  expect(new Own('CLOSED') instanceof FolioError).toBe(true)
  expect(new Own('CLOSED') instanceof Own).toBe(true)
  expect(own instanceof Own).toBe(false)
})

test.each([
  ['/ledgers/1', 410],
  ['/ledgers/99999999', 404],
  ['/accounts/nobody/payments', 404],
  ['/transactions?cursor=x', 400],
])('%s of a ledger that another copy opened is %s', async (path, status) => {
  const logged: unknown[] = []
  const handle = createHandler(ledger as never, { log: (error) => logged.push(error) })
  for (const accept of ['application/json', 'application/json, text/event-stream;q=0.9'])
    expect((await handle(new Request(`http://ledger.test${path}`, { headers: { accept } }))).status).toBe(status)
  expect(logged).toEqual([])
})
