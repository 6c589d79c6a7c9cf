/** `folio serve`: answers, closes fed meanwhile, and a graceful end. */
import { readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { directory, folio, lines, ndjson, type Running, start } from './support.ts'

const closes = lines(5)
const urlOf = async (running: Running): Promise<string> => (await running.until('err', / at (http:\/\/[^\s,]+)/))[1]!
const sequences = async (url: string): Promise<number[]> =>
  ((await (await fetch(`${url}/ledgers`)).json()) as any)._embedded.records.map((record: any) => record.sequence)

test('a store is served until SIGTERM, and what to try is shown', async () => {
  const data = join(directory(), 'data')
  await folio(['ingest', '--data', data, '-'], { stdin: ndjson(closes) })
  const running = start(['serve', '--data', data, '--port', '0'])
  const url = await urlOf(running)
  expect(await sequences(url)).toEqual([2_100_000, 2_100_001, 2_100_002, 2_100_003, 2_100_004])
  const [, tried] = await running.until('err', /try curl '(\S+\/transactions\/\w+)'/)
  expect((await fetch(tried!)).status).toBe(200)
  expect(await folio(['get', '/', '--data', data])).toMatchObject({ code: 3 })
  running.stop()
  const { code, out, err } = await running.done
  expect({ code, out }).toEqual({ code: 0, out: '' })
  expect(err).toMatch(/, ledgers 2100000 to 2100004\n/)
  await expect(fetch(url)).rejects.toThrow()
  expect(await folio(['get', '/ledgers/2100004', '--data', data])).toMatchObject({ code: 0 })
})

test('the cache is as large as it is said to be', async () => {
  const path = join(directory(), 'closes.ndjson')
  writeFileSync(path, ndjson(lines(40)))
  const kept = async (...options: string[]): Promise<boolean> => {
    const running = start(['serve', '--store', 'memory', '--port', '0', '--ingest', path, ...options])
    const url = await urlOf(running)
    await running.until('err', /the input has ended/)
    for (let nth = 0; nth < 20; nth++) await (await fetch(`${url}/transactions?limit=40`)).text()
    const metrics = await (await fetch(`${url}/metrics`)).text()
    running.stop()
    await running.done
    return Number(/^folio_rendered_blocks_total (\d+)$/m.exec(metrics)![1]) > 0
  }
  expect([await kept(), await kept('--cache-mib', '16'), await kept('--cache-mib', '0')]).toEqual([true, true, false])
})

test('closes from standard input are visible when they are acknowledged, and the service outlives them', async () => {
  const stdin = new PassThrough()
  const running = start(['serve', '--store', 'memory', '--port', '0', '--ingest', '-', '--json'], { stdin })
  const url = await urlOf(running)
  expect(await sequences(url)).toEqual([])
  for (const [at, line] of closes.entries()) {
    stdin.write(`${line}\n`)
    await running.until('out', new RegExp(`{"ledger":${2_100_000 + at}}\n$`))
    expect((await sequences(url)).at(-1)).toBe(2_100_000 + at)
  }
  stdin.end()
  await running.until('err', /ingested 5 ledgers; the input has ended, serving on/)
  expect(await sequences(url)).toHaveLength(5)
  running.stop('SIGINT')
  expect((await running.done).code).toBe(0)
})

test('SIGTERM ends it while standard input stays open', async () => {
  const stdin = new PassThrough()
  const data = join(directory(), 'data')
  const running = start(['serve', '--data', data, '--port', '0', '--ingest', '-'], { stdin })
  stdin.write(`${closes[0]}\n{"half`)
  const url = await urlOf(running)
  while ((await sequences(url)).length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  running.stop()
  expect((await running.done).code).toBe(0)
})

test.for([[], ['--json']])('a close that is rejected ends the service, which says what it had ingested: %s', async (more) => {
  const path = join(directory(), 'closes.ndjson')
  writeFileSync(path, ndjson(closes.toSpliced(2, 1)))
  const { code, err } = await folio(['serve', '--store', 'memory', '--port', '0', '--ingest', path, ...more])
  expect(code).toBe(1)
  expect(err).toMatch(
    /\nfolio: LEDGER_GAP: .*line: 3, sequence: 2100003, expected: 2100002\)\nfolio: before that, ingested 2 ledgers; newest 2100001\n$/,
  )
})

test('a missing file to ingest is named before anything is served, or a store made', async () => {
  const dir = directory()
  const { code, err } = await folio(['serve', '--data', join(dir, 'data'), '--port', '0', '--ingest', join(dir, 'nofile')])
  expect([code, err.split('\n').length]).toEqual([1, 2])
  expect(err).toMatch(/^folio: cannot be read: ENOENT.*nofile/)
  expect(readdirSync(dir)).toEqual([])
})

test('acknowledgements cannot be asked for if nothing is ingested', async () => {
  const { code, err } = await folio(['serve', '--store', 'memory', '--port', '0', '--json'])
  expect({ code, err }).toEqual({
    code: 2,
    err: expect.stringMatching(/^folio: --json acknowledges the ledgers of --ingest, which is missing\n$/),
  })
})

test('a port that is taken is named', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => other.once('listening', resolve))
  const { port } = other.address() as { port: number }
  const { code, err } = await folio(['serve', '--store', 'memory', '--port', String(port), '--ingest', '-'])
  other.close()
  expect(code).toBe(6)
  expect(err).toMatch(new RegExp(`^folio: cannot listen: .*EADDRINUSE.*${port}; --port names another, 0 a free one\n$`))
})
