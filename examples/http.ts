import { createServer } from 'node:http'
import { openLedger } from 'ledger-folio'
import { createHandler, listener, serve } from 'ledger-folio/http'
import { level } from 'ledger-folio/level'

const ledger = await openLedger(level('./data/example'))

// A standalone server …
const server = await serve(ledger, { port: 8000 })
console.log(server.url)

// … or part of yours: a Node listener (Express; Fastify, with `mount` for its prefix), or a web-standard handler (Hono, Next, Bun, Deno).
const mounted = createServer(listener(ledger)).listen(8001)
const handler = createHandler(ledger, { baseUrl: 'https://ledger.example' })
const answer = await handler(new Request('https://ledger.example/transactions?limit=1'))
console.log(answer.status, answer.headers.get('content-type'))

mounted.close()
await server.close()
await ledger.close()
