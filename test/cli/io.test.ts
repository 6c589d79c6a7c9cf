/** Standard output and signals. */
import { getEventListeners } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { aside, type Io, pour } from '../../adapters/cli/io.ts'
import { directory, failing, folio, lines, ndjson, type Running, start, stuck } from './support.ts'

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

test('lines that are written after the signal, which nobody may take, wait for nothing and listen for nothing', async () => {
  const stop = new AbortController()
  const { say, said } = aside({ stdout: stuck(), signal: stop.signal } as unknown as Io)
  stop.abort('SIGINT')
  for (let n = 0; n < 30; n++) say(`${n}`)
  await said()
  expect(getEventListeners(stop.signal, 'abort').length).toBe(0)
})

test('lines that come faster than they are taken are written in order, and listen for the signal one at a time', async () => {
  const stop = new AbortController()
  const taken: string[] = []
  let most = 0
  const stdout = new Writable({
    write(chunk, _, done) {
      most = Math.max(most, getEventListeners(stop.signal, 'abort').length)
      taken.push(String(chunk))
      setImmediate(done)
    },
  })
  const { say, said } = aside({ stdout, signal: stop.signal } as unknown as Io)
  const all = Array.from({ length: 30 }, (_, n) => `${n}`)
  for (const text of all) say(text)
  await said()
  expect({ taken, most }).toEqual({ taken: all, most: 1 })
})

describe('one signal ends a command whose standard output nobody drains:', () => {
  /** The exit code of a command that is told to end once it writes. */
  const stopped = (argv: string[], stdin = ''): Promise<number> => {
    const stdout = stuck(() => running.stop())
    const running: Running = start(argv, { stdin, stdout })
    return running.done.then(({ code }) => {
      expect(stdout.destroyed).toBe(false)
      return code
    })
  }
  const filled = async (): Promise<string> => {
    const data = join(directory(), 'data')
    await folio(['ingest', '--data', data, '--batch', '5', '-'], { stdin: ndjson(lines(5)) })
    return data
  }

  test('one that writes on and on', async () => {
    expect(await stopped(['generate', '--ledgers', '1000', '--seed', '7'])).toBe(143)
    const data = await filled()
    expect(await stopped(['export', '--data', data])).toBe(143)
    expect(await stopped(['get', '/operations', '--ndjson', '--data', data])).toBe(143)
  })

  test('one that writes its answer at once', async () => {
    const data = await filled()
    expect(await stopped(['get', '/operations', '--data', data])).toBe(143)
    expect(await stopped(['verify', '--data', data])).toBe(143)
  })

  test('one that acknowledges: what is stored is said, and a service ends well', async () => {
    expect(await stopped(['ingest', '--data', join(directory(), 'data'), '--json', '-'], ndjson(lines(5)))).toBe(143)
    expect(await stopped(['serve', '--store', 'memory', '--port', '0', '--ingest', '-', '--json'], ndjson(lines(5)))).toBe(0)
  })
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
