/** Standard output and signals. */
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { type Io, pour } from '../../adapters/cli/io.ts'

test('a signal is heard between chunks that are at hand and written at once', async () => {
  const stop = new AbortController()
  const stdout = new PassThrough()
  let written = 0
  stdout.on('data', () => {
    // As the system delivers a signal: not before the event loop turns.
    if (++written === 3) setImmediate(() => stop.abort('SIGINT'))
  })
  const chunks = async function* (): AsyncGenerator<string> {
    for (let n = 0; n < 1000; n++) yield 'chunk'
  }
  await pour({ stdout, signal: stop.signal } as unknown as Io, chunks())
  expect(written).toBeGreaterThanOrEqual(3)
  expect(written).toBeLessThan(20)
  expect(stdout.writableEnded).toBe(false)
})
