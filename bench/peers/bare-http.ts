/**
 * The limit over HTTP: node:http that answers whatever it is asked with bytes made ready, as many as a page of transactions has. What a server does
 * beyond this is its own.
 */
import { createServer } from 'node:http'

/** Bytes of a page of 10 and of 200 transactions. */
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
