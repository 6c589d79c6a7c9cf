/** `folio generate`: the same bytes for the same options, as fast as they are read and no faster. */
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { run } from '../../adapters/cli/run.ts'
import { directory, folio } from './support.ts'

const small = ['generate', '--accounts', '32', '--transactions-per-ledger', '4']

test('the same seed gives the same bytes, another seed different ones', async () => {
  const [a, b, c] = await Promise.all(['7', '7', '8'].map((seed) => folio([...small, '--ledgers', '20', '--seed', seed])))
  expect(a).toMatchObject({ code: 0, err: '' })
  expect(a!.out.trimEnd().split('\n')).toHaveLength(20)
  expect(b!.out).toBe(a!.out)
  expect(c!.out).not.toBe(a!.out)
})

test('what it writes can be ingested whole, ids past 2^53 included', async () => {
  const { out } = await folio([...small, '--ledgers', '40', '--seed', 'pipeline', '--first-ledger', '3000000'])
  const { code, err } = await folio(['ingest', '--data', join(directory(), 'data'), '--batch', '7', '-'], { stdin: out })
  expect(err).toMatch(/ingested 40 ledgers; newest 3000039/)
  expect(code).toBe(0)
})

test('options that exclude each other are named as they are typed', async () => {
  const { code, out, err } = await folio([...small, '--ledgers', '20', '--seed', '7', '--first-ledger', '2147483640'])
  expect([code, out]).toEqual([2, ''])
  expect(err).toBe('folio: --first-ledger must be a whole number from 1 to 2147483627\n')
})

test('numbers are what the generator takes, and no others', async () => {
  const counted = async (mean: string) =>
    folio(['generate', '--ledgers', '1', '--seed', '7', '--accounts', '32', '--transactions-per-ledger', mean])
  for (const mean of ['1.5', '2000']) expect(await counted(mean)).toMatchObject({ code: 0, err: '' })
  for (const mean of ['500001', '-1', '1e3'])
    expect(await counted(mean)).toMatchObject({ code: 2, out: '', err: expect.stringMatching(/^folio: .*--transactions-per-ledger /) })
  expect(await folio([...small, '--ledgers', '1.5', '--seed', '7'])).toMatchObject({
    code: 2,
    err: 'folio: --ledgers must be a whole number from 0 to 2147483646\n',
  })
})

const io = (stdout: Writable, signal = new AbortController().signal) => ({
  ...{ stdin: process.stdin, stdout, stderr: new Writable({ write: (_chunk, _encoding, done) => done() }), env: {}, signal },
})

test('a reader that goes away ends it, with an exit code of its own', async () => {
  let written = 0
  const stdout = new Writable({
    write(chunk, _encoding, done) {
      written += chunk.length
      done(written > 200_000 ? Object.assign(new Error('write EPIPE'), { code: 'EPIPE', syscall: 'write' }) : null)
    },
  })
  expect(await run(['generate', '--ledgers', '1000000', '--seed', '1'], io(stdout))).toBe(141)
  expect(written).toBeLessThan(1_000_000)
})

test('a slow reader is waited for, and a signal ends it', async () => {
  const stop = new AbortController()
  let chunks = 0
  const stdout = new Writable({
    write(_chunk, _encoding, done) {
      if (++chunks === 20) stop.abort('SIGINT')
      setTimeout(done, 1)
    },
  })
  expect(await run(['generate', '--ledgers', '1000000', '--seed', '1'], io(stdout, stop.signal))).toBe(130)
  expect(chunks).toBeLessThan(60)
})
