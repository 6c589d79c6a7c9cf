/** Standard output and signals. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { type Io, pour } from '../../adapters/cli/io.ts'
import { directory, failing, folio, lines, ndjson, start, stuck } from './support.ts'

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

test('nobody has to read what is meant for people: a command does what it would do', async () => {
  for (const stderr of [failing('EPIPE'), stuck()])
    expect((await folio(['get', '/', '--data', join(directory(), 'missing')], { stderr })).code).toBe(3)
  const closes = join(directory(), 'closes.ndjson')
  writeFileSync(closes, ndjson(lines(5)))
  for (const stderr of [failing('EPIPE'), stuck()]) {
    expect((await folio(['ingest', '--data', join(directory(), 'data'), closes], { stderr })).code).toBe(0)
    const service = start(['serve', '--store', 'memory', '--port', '0', '--ingest', closes, '--json'], { stderr })
    await service.until('out', /2100004/)
    service.stop()
    expect((await service.done).code).toBe(0)
  }
})
