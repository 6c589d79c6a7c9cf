/** Acknowledgement lines: one write each, and only when the ledger is durable and visible. A batch is one durable write. */
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '../../adapters/cli/run.ts'
import { stores } from '../../adapters/cli/stores.ts'
import type { Store, Write, WriteOptions } from '../../src/index.ts'
import { decodeHead } from '../../src/layout/head.ts'
import { directory, lines, ndjson } from './support.ts'

const FIRST = 2_100_000

/** A stream that reports each single write, and may take its time. */
const told = (tell: (text: string) => Promise<void> | void): Writable =>
  new Writable({
    decodeStrings: false,
    write(chunk, _, done) {
      Promise.resolve(tell(String(chunk))).then(() => done(), done)
    },
  })

const silent = () => told(() => {})
const ioOf = (stdin: string, stdout: Writable, stderr = silent(), signal = new AbortController().signal) => ({
  ...{ stdin: Readable.from([Buffer.from(stdin)]), stdout, stderr, env: {}, signal },
})

test.each([
  [1, 12],
  [5, 3],
  [100, 1],
])('in batches of %i, 12 ledgers are %i durable writes, and each is acknowledged after its own', async (batch, writes) => {
  const seen: string[] = []
  const { open } = stores.level
  onTestFinished(() => {
    stores.level.open = open
  })
  stores.level.open = async (data, options) => {
    const store = await open(data, options)
    const write = async (entries: readonly Write[], asked: WriteOptions): Promise<void> => {
      await store.write(entries, asked)
      const [key, value] = entries.at(-1)!
      if (key[0] === 0) seen.push(`${asked.durable ? 'durable' : 'loose'} ${decodeHead(value!).last}`)
    }
    return Object.assign(Object.create(store) as Store, { write })
  }
  const argv = ['ingest', '--data', join(directory(), 'data'), '--json', '--batch', String(batch), '-']
  expect(
    await run(
      argv,
      ioOf(
        ndjson(lines(12)),
        told((text) => void seen.push(text)),
      ),
    ),
  ).toBe(0)
  const wanted: string[] = []
  for (let at = 0; at < 12; at += batch) {
    const last = Math.min(12, at + batch) - 1
    wanted.push(`durable ${FIRST + last}`)
    for (let ledger = at; ledger <= last; ledger++) wanted.push(`{"ledger":${FIRST + ledger}}\n`)
  }
  expect(seen).toEqual(wanted)
  expect(seen.filter((line) => line.startsWith('durable'))).toHaveLength(writes)
})

test('a service that is fed acknowledges a ledger once it answers with it', async () => {
  const stop = new AbortController()
  let url = ''
  const answers: (string | number)[] = []
  const stderr = told((text) => {
    url ||= / at (http:\S+?),? /.exec(text)?.[1] ?? ''
  })
  const stdout = told(async (line) => {
    const { ledger } = JSON.parse(line)
    const { status } = await fetch(`${url}/ledgers/${ledger}`)
    answers.push(line, status)
    if (answers.length === 20) stop.abort('SIGTERM')
  })
  const argv = ['serve', '--data', join(directory(), 'data'), '--port', '0', '--ingest', '-', '--json']
  expect(await run(argv, ioOf(ndjson(lines(10)), stdout, stderr, stop.signal))).toBe(0)
  expect(answers).toEqual(Array.from({ length: 10 }, (_, i) => [`{"ledger":${FIRST + i}}\n`, 200]).flat())
})
