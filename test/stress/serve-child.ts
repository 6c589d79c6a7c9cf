/** The process that serves a small network over HTTP, in which a bug may be planted. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { listener, serve } from '../../adapters/http/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { catalogue, type Ledger, openLedger } from '../../src/index.ts'
import type { Known } from './fuzz-grammar.ts'
import { History } from './history.ts'

const collect = (globalThis as { gc?: () => void }).gc

export async function serveChild(plant: string | undefined): Promise<void> {
  const history = await History.of({ ledgers: 150, seed: 'serve', accounts: 24, transactionsPerLedger: 8 })
  const ledger = await openLedger(memory(), { cacheBytes: 32 << 20 })
  await ledger.ingest(history.closes)
  // An answer of 5xx is told in full by the client that got it.
  const port = plant === undefined ? (await serve(ledger, { port: 0, log: console.error })).port : await planted(ledger, plant)
  process.on('message', () => {
    collect?.()
    process.send!(process.memoryUsage().rss)
  })
  process.send!({ port, known: await knownOf(ledger) })
}

/** Bugs of a service, each what a stress is there to find. What is returned is whether the request is still to be answered. */
export const servicePlants: Readonly<Record<string, (request: IncomingMessage, nth: number) => boolean>> = {
  'a defect behind one kind of value': ({ url = '' }) => {
    if (url.includes('0x10')) throw new TypeError('0x10 is taken for a number')
    return true
  },
  'what the parser refuses has no body': () => true,
  'one request in a thousand is not answered': (_, nth) => nth % 1000 > 0,
  'something of every request is kept': (request) => kept.push(Buffer.alloc(4096, request.url)) > 0,
}
const kept: Buffer[] = []

/** The listener alone, in a server that does not answer for its parser. */
async function planted(ledger: Ledger, plant: string): Promise<number> {
  const answer = listener(ledger, { log: console.error })
  let nth = 0
  const server = createServer({ requireHostHeader: false }, (request, response) => {
    try {
      if (servicePlants[plant]!(request, ++nth)) answer(request, response)
    } catch {
      response.writeHead(500).end()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

async function knownOf(ledger: Ledger): Promise<Known> {
  const transaction = (await ledger.page(catalogue.transactions, {}, { order: 'desc', limit: 1 })).records[0]!
  const [operation] = (await ledger.page(catalogue.operationsOfTransaction, { hash: transaction.hash })).records
  const trade = (await ledger.page(catalogue.trades, {}, { limit: 1 })).records[0]
  return {
    account: transaction.account,
    hash: transaction.hash,
    ledger: String(transaction.ledger),
    operation: String(operation!.id),
    offer: String(trade?.base_offer_id ?? trade?.offer_id ?? 51_829),
  }
}
