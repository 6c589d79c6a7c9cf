/**
 * The limit over HTTP: bare sockets that send as many bytes as the others and do nothing else; they know that each piece that arrives is a request.
 * Whatever a server takes beyond that is its own cost. A body is cut out of as much memory as a log takes, from a place drawn as cursors are: one body
 * sent again and again would stay in the processor's cache, which the bodies of a service do not.
 */
import { createServer } from 'node:net'
import { backFrom, Random, type Workload } from '../works.ts'

/** The bytes of a transaction as it is sent. */
export const TRANSACTION = 2350

/** What asks a bare server for a body. */
export const bareTarget = (target: string, workload: Workload, bytes: number): string => `${target}&body=${bytes}-${workload}`

/** @param bytes how much memory its bodies come from */
export async function serveBare(bytes: number): Promise<{ port: number; stop: () => Promise<void> }> {
  const history = Buffer.alloc(bytes, 'x')
  const random = new Random(1)
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => socket.destroy())
    socket.on('data', (request) => {
      const [, size, workload] = /&body=(\d+)-(\w+) HTTP/.exec(request.toString('latin1'))!
      const length = Number(size)
      const end = bytes - backFrom(random, workload as Workload, bytes - length)
      socket.cork()
      socket.write(`HTTP/1.1 200 OK\r\nContent-Type: application/hal+json; charset=utf-8\r\nContent-Length: ${length}\r\n\r\n`, 'latin1')
      socket.write(history.subarray(end - length, end))
      socket.uncork()
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const address = server.address() as { port: number }
  return { port: address.port, stop: () => new Promise((stopped) => server.close(() => stopped())) }
}
