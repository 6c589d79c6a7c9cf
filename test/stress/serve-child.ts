/** The process that serves a small network over HTTP, in which a bug may be planted. */
import { type IncomingMessage, Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { serve } from '../../adapters/http/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { catalogue, type Ledger, openLedger } from '../../src/index.ts'
import { collectGarbage } from '../support/held.ts'
import type { Known } from './fuzz-grammar.ts'
import { History } from './history.ts'

export async function serveChild(plant: string | undefined): Promise<void> {
  const history = await History.of({ ledgers: 150, seed: 'serve', accounts: 24, transactionsPerLedger: 8 })
  const ledger = await openLedger(memory(), { cacheBytes: 32 << 20 })
  await ledger.ingest(history.closes)
  // An answer of 5xx is reported in full by the client that got it.
  const { port } = await serve(ledger, { port: 0, log: console.error })
  if (plant !== undefined) spoil(plant)
  process.on('message', (asked) => {
    if (asked === 'memory') collectGarbage()
    process.send!(asked === 'memory' ? process.memoryUsage().rss : asked)
  })
  process.send!({ port, known: await knownOf(ledger) })
}

type Event = readonly [name: string | symbol, request: IncomingMessage & Socket, response: ServerResponse & Socket]

/** Bugs of a service: what becomes of an event of its server; true if nothing else is to happen. */
const plants: Readonly<Record<string, (event: Event, nth: number) => boolean>> = {
  'a defect behind one kind of value': ([name, { url }, response]) => {
    if (name !== 'request' || !url!.includes('0x10')) return false
    response.writeHead(500, { 'access-control-allow-origin': '*' }).end()
    return true
  },
  'what the parser refuses has no body': ([name, , socket]) => {
    if (name === 'clientError') socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\naccess-control-allow-origin: *\r\n\r\n')
    return name === 'clientError'
  },
  'one request in a thousand is not answered': ([name], nth) => name === 'request' && nth % 1000 === 0,
  'something of every request is kept': ([name, request]) => {
    if (name === 'request') kept.push(Buffer.alloc(4096, request.url))
    return false
  },
}
const kept: Buffer[] = []

/** Puts a bug in front of everything that servers of this process do. */
function spoil(plant: string): void {
  const { emit } = Server.prototype
  let nth = 0
  Server.prototype.emit = function (this: Server, ...event: any[]) {
    if (event[0] === 'request') nth++
    return plants[plant]!(event as unknown as Event, nth) || emit.apply(this, event as never)
  }
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
