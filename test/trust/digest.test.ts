/** What goes in comes out: lines that give the same store again, and digests that tell whether two stores hold the same ledgers. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { level } from '../../adapters/level/index.ts'
import { type MemoryDisk, memory, memoryDisk } from '../../adapters/memory/index.ts'
import { closeChain } from '../../adapters/testing/arbitraries.ts'
import { type LedgerClose, openLedger, parseJson } from '../../src/index.ts'
import { hasher, portableHasher } from '../../src/sha256.ts'
import { ledgerOf } from '../support/benches.ts'
import { directory } from '../support/directory.ts'
import { dump } from '../support/dump.ts'
import { errorOf } from '../support/errors.ts'
import { holds } from '../support/property.ts'
import { collect } from '../support/turns.ts'

const linesOf = async (disk: MemoryDisk): Promise<string[]> => collect((await openLedger(memory(disk))).lines())

const ingest = async (closes: Iterable<LedgerClose>, fileEvery: number, batch: number): Promise<MemoryDisk> => {
  const disk = memoryDisk()
  await (await openLedger(memory(disk), { fileEvery })).ingest(closes, { batch })
  return disk
}

describe('lines', () => {
  test('of any history, ingested again, give the same bytes, the same digest, and the same lines', () =>
    holds(fc.tuple(closeChain, fc.constantFrom(1, 40, 1e6)), 60, async ([closes, fileEvery]) => {
      const first = await ingest(closes, fileEvery, 1)
      const lines = await linesOf(first)
      const again = await ingest(lines.map(parseJson) as LedgerClose[], fileEvery, 3)
      expect(await linesOf(again)).toEqual(lines)
      expect(await dump(memory(again))).toEqual(await dump(memory(first)))
    }))

  test('are the same from any store, and so is the digest', async () => {
    const closes = [...generate({ ledgers: 30, seed: 4, accounts: 20 })]
    const [one, other] = [await ledgerOf(closes, { fileEvery: 50 }), await openLedger(level(directory()))]
    await other.ingest(closes, { batch: 7 })
    expect(await other.digest()).toBe(await one.digest())
    await other.close()
  })

  test('begin and end where they are told to', async () => {
    const closes = [...generate({ ledgers: 9, seed: 4, accounts: 20, firstLedger: 100 })]
    const ledger = await ledgerOf(closes)
    const sequences = async (range?: { from?: number; to?: number }): Promise<number[]> => {
      const found: number[] = []
      for await (const close of ledger.closes(range)) found.push(close.ledger.sequence)
      return found
    }
    expect(await sequences()).toEqual(closes.map((close) => close.ledger.sequence))
    expect(await sequences({ from: 103, to: 104 })).toEqual([103, 104])
    expect(await sequences({ from: 109, to: 108 })).toEqual([])
    expect(await errorOf(() => sequences({ to: 109 }))).toMatchObject({ code: 'BAD_REQUEST', fields: { field: 'to' } })
    expect(await errorOf(() => sequences({ from: 99 }))).toMatchObject({ code: 'GONE_BEFORE_HISTORY' })
    expect(await errorOf(() => sequences({ from: 1.5 }))).toMatchObject({ code: 'BAD_REQUEST', fields: { field: 'from' } })
  })

  test('of an empty ledger are none, and none can be asked for', async () => {
    const ledger = await openLedger(memory())
    const empty = createHash('sha256').digest('hex')
    for (const range of [undefined, {}, { from: 1 }, { from: 1, to: 0 }]) {
      expect(await ledger.digest(range)).toBe(empty)
      expect(await collect(ledger.lines(range))).toEqual([])
    }
    for (const [range, field] of [
      [{ from: 2 }, 'from'],
      [{ from: 1, to: 10 }, 'to'],
      [{ form: 1 }, 'form'],
    ] as const) {
      const refused = { code: 'BAD_REQUEST', fields: { field } }
      expect(await errorOf(() => ledger.digest(range as object))).toMatchObject(refused)
      expect(await errorOf(() => collect(ledger.lines(range as object)))).toMatchObject(refused)
    }
    await ledger.close()
    expect(await errorOf(() => collect(ledger.lines()))).toMatchObject({ code: 'CLOSED' })
  })

  test('stop if history is rolled back under them', async () => {
    const ledger = await ledgerOf([...generate({ ledgers: 9, seed: 4, accounts: 20, firstLedger: 100 })])
    const lines = ledger.lines()
    await lines.next()
    await ledger.rollback(100)
    expect(await errorOf(() => lines.next())).toMatchObject({ code: 'ROLLED_BACK', fields: { last: 100, reached: 100 } })
  })
})

describe('a digest', () => {
  const closes = [...generate({ ledgers: 12, seed: 4, accounts: 20, firstLedger: 100 })]
  const sha = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest()

  test('is SHA-256 over the SHA-256 of each line', async () => {
    const ledger = await ledgerOf(closes)
    const digests: Buffer[] = []
    for await (const line of ledger.lines({ from: 102, to: 105 })) digests.push(sha(line))
    expect(await ledger.digest({ from: 102, to: 105 })).toBe(sha(Buffer.concat(digests)).toString('hex'))
  })

  test('of the same ledgers does not depend on where history begins, and without ledgers it is that of no bytes', async () => {
    const late = await ledgerOf(closes.slice(5))
    expect(await late.digest()).toBe(await (await ledgerOf(closes)).digest({ from: 105 }))
    expect(await (await openLedger(memory())).digest()).toBe(sha('').toString('hex'))
  })

  test('differs if anything differs', async () => {
    const digest = await (await ledgerOf(closes)).digest()
    const changed = structuredClone(closes) as any[]
    changed[11].ledger.extra = 1
    expect(await (await ledgerOf(changed)).digest()).not.toBe(digest)
  })
})

test('the portable SHA-256 agrees with the native one, in whatever pieces', () =>
  holds(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 5 }), 200, (parts) => {
    const [one, other] = [hasher(), portableHasher()]
    for (const part of parts) {
      one.update(part)
      other.update(part)
    }
    expect(Buffer.from(other.digest()).toString('hex')).toBe(Buffer.from(one.digest()).toString('hex'))
  }))
