/**
 * The limit over HTTP: bare node:http that answers every request with a prepared body, as large as a page of transactions. Whatever a server takes
 * beyond that is its own cost.
 */
import { createServer } from 'node:http'

/** The size of a page of 10 and of 200 transactions, in bytes. */
const BODY = { ten: 24_000, twoHundred: 470_000 }

export async function serveBare(): Promise<{ port: number; stop: () => Promise<void> }> {
  const [small, large] = [Buffer.alloc(BODY.ten, 'x'), Buffer.alloc(BODY.twoHundred, 'x')]
  const server = createServer((request, response) => {
    const body = request.url!.includes('limit=200') ? large : small
    response.writeHead(200, { 'content-type': 'application/hal+json; charset=utf-8', 'content-length': body.length })
    response.end(body)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const address = server.address() as { port: number }
  return { port: address.port, stop: () => new Promise((stopped) => server.close(() => stopped())) }
}
