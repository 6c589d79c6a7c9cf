/**
 * The limit over HTTP: bare node:http that sends as many bytes as the others and does nothing else. Whatever a server takes beyond that is its own cost.
 * A body is cut out of as much memory as a log takes, from a place drawn as cursors are: one body sent again and again would stay in the processor's
 * cache, which the bodies of a service do not.
 */
import { createServer } from 'node:http'
import { Random, RECENT, type Workload } from '../works.ts'

/** About as large as all transactions of the data set, as they are sent. */
const HISTORY = 480_000_000

/** What asks a bare server for a body. */
export const bareTarget = (target: string, workload: Workload, bytes: number): string => `${target}&body=${bytes}-${workload}`

export async function serveBare(): Promise<{ port: number; stop: () => Promise<void> }> {
  const history = Buffer.alloc(HISTORY, 'x')
  const random = new Random(1)
  const server = createServer((request, response) => {
    const url = request.url!
    const length = Number.parseInt(url.slice(url.lastIndexOf('=') + 1), 10)
    const recent = url.endsWith('recent') && random.next() < RECENT.requests
    const begin = recent ? Math.floor(HISTORY * (1 - RECENT.ledgers)) : 0
    const at = begin + random.below(HISTORY - begin - length)
    response.writeHead(200, { 'content-type': 'application/hal+json; charset=utf-8', 'content-length': length })
    response.end(history.subarray(at, at + length))
  })
  // It waits while the others are measured.
  server.keepAliveTimeout = 600_000
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const address = server.address() as { port: number }
  return { port: address.port, stop: () => new Promise((stopped) => server.close(() => stopped())) }
}
