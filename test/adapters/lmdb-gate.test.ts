/** Who opens and who commits keep out of each other's way: what their files say, whom they wait for, and whom not. Processes at it: `stress/crowd.ts`. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Gate } from '../../adapters/lmdb/gate.ts'
import { lmdb } from '../../adapters/lmdb/index.ts'

const root = mkdtempSync(join(tmpdir(), 'folio-lmdb-gate-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
afterEach(() => void vi.restoreAllMocks())
let places = 0
let place: string
beforeEach(async () => {
  place = join(root, `store ${++places}`)
  const store = await lmdb(place)
  await put(store)
  await store.close()
})
const put = async (store: Awaited<ReturnType<typeof lmdb>>) => store.write([[Uint8Array.of(1), Uint8Array.of(places)]], { durable: true })
const opening = (): string => join(place, 'OPENING')
const writing = (): string => join(place, 'WRITING')
/** A process, and when it started. */
function who(pid: number, start = performance.timeOrigin): Buffer {
  const bytes = Buffer.alloc(16)
  bytes.writeBigUInt64LE(BigInt(pid))
  bytes.writeDoubleLE(start, 8)
  return bytes
}
const commit = (transaction: bigint, by: Buffer): Buffer => {
  const bytes = Buffer.alloc(24)
  bytes.writeBigUInt64LE(transaction)
  by.copy(bytes, 8)
  return bytes
}
const ended = spawnSync(process.execPath, ['-e', '']).pid
const alive = [
  ['this process', who(process.pid)],
  ['another process', who(process.ppid, 1)],
] as const
const left = [
  ['a process that has ended', who(ended)],
  ['one that had the number of this one', who(process.pid, 1)],
  ['zeros, as after a loss of power', who(0, 0)],
] as const

/** Whether it is done within some time. */
const isSoon = (work: Promise<unknown>, ms: number): Promise<boolean> =>
  Promise.race([work.then(() => true), new Promise<boolean>((resolve) => setTimeout(() => resolve(false), ms))])

describe('who opens', () => {
  test.each(alive)('waits for %s that opens or closes', async (_, by) => {
    writeFileSync(opening(), by)
    const store = lmdb(place)
    expect(await isSoon(store, 100)).toBe(false)
    rmSync(opening())
    expect(await isSoon(store, 5000)).toBe(true)
    await (await store).close()
    expect(existsSync(opening())).toBe(false)
  })

  test.each(alive)('waits for %s that commits', async (_, by) => {
    // Of a new store, the first transaction is the one that was written.
    writeFileSync(writing(), commit(2n, by))
    const store = lmdb(place)
    expect(await isSoon(store, 100)).toBe(false)
    writeFileSync(writing(), Buffer.alloc(24))
    expect(await isSoon(store, 5000)).toBe(true)
    await (await store).close()
  })

  test.each(left)('does not wait for %s', async (_, by) => {
    writeFileSync(opening(), by)
    writeFileSync(writing(), commit(2n, by))
    const store = lmdb(place)
    expect(await isSoon(store, 5000)).toBe(true)
    await put(await store)
    await (await store).close()
    expect(existsSync(opening())).toBe(false)
  })

  test('opens again if somebody has committed meanwhile, as one does who does not know of the gate', async () => {
    const newest = vi.spyOn(Gate.prototype, 'newest')
    // Each attempt asks three times: whether somebody commits, before it opens, and after.
    for (const at of [1n, 1n, 2n, 2n, 2n, 3n]) newest.mockReturnValueOnce(at)
    const store = await lmdb(place)
    expect(newest).toHaveBeenCalledTimes(9)
    expect(store.get(Uint8Array.of(1))).toEqual(Uint8Array.of(places))
    await store.close()
  })

  test('does not wait for a commit that is done', async () => {
    writeFileSync(writing(), commit(1n, who(process.ppid, 1)))
    const store = lmdb(place)
    expect(await isSoon(store, 5000)).toBe(true)
    await (await store).close()
  })

  test.each([
    ['nothing, as after a loss of power', Buffer.alloc(0)],
    ['a process that is stuck', who(process.ppid, 1)],
  ])('does not wait for %s, if it has been so for long', async (_, by) => {
    writeFileSync(opening(), by)
    const then = Date.now() / 1000 - 11
    utimesSync(opening(), then, then)
    const store = lmdb(place)
    expect(await isSoon(store, 5000)).toBe(true)
    await (await store).close()
  })
})

describe('who writes', () => {
  test.each(alive)('waits for %s that opens', async (_, by) => {
    const store = await lmdb(place)
    writeFileSync(opening(), by)
    const written = put(store)
    expect(await isSoon(written, 100)).toBe(false)
    rmSync(opening())
    expect(await isSoon(written, 5000)).toBe(true)
    await store.close()
  })

  test('says so first; what it said is no newer than the newest transaction once it is done, and is taken back in the end', async () => {
    const store = await lmdb(place)
    await put(store)
    expect(readFileSync(writing())).toEqual(commit(2n, who(process.pid)))
    await store.close()
    expect(readFileSync(writing())).toEqual(Buffer.alloc(24))
  })

  test('takes it back if nothing changes, or it fails', async () => {
    const store = await lmdb(place)
    const expected = { key: Uint8Array.of(1), value: Uint8Array.of(0) }
    await expect(store.write([], { durable: true, expect: expected })).rejects.toMatchObject({ code: 'CONFLICT' })
    expect(readFileSync(writing())).toEqual(Buffer.alloc(24))
    for (const batch of [[], [[Uint8Array.of(7), undefined]]] as const) {
      await store.write(batch, { durable: true })
      expect(readFileSync(writing())).toEqual(Buffer.alloc(24))
    }
    const half = {
      *[Symbol.iterator]() {
        yield Uint8Array.of(2)
        throw new Error('half way')
      },
    } as never
    await expect(store.write([half], { durable: true })).rejects.toMatchObject({ code: 'STORE_FAILED' })
    expect(readFileSync(writing())).toEqual(Buffer.alloc(24))
    await store.close()
  })

  test('is told what failed, also on a disk on which nothing can be taken back', async () => {
    const gate = new Gate(place)
    const failed = new Error('the disk is full')
    const write = async (): Promise<never> => {
      gate.enter(Number(gate.newest()) + 1)
      vi.spyOn(process.getBuiltinModule('node:fs'), 'writeSync').mockImplementation(() => {
        throw new Error('it is full, too')
      })
      throw failed
    }
    await expect(gate.pass(write)).rejects.toBe(failed)
    await gate.close(async () => {})
    expect(readFileSync(writing()).readBigUInt64LE()).toBe(2n)
  })

  test('is let in only with the transaction that follows the newest', () => {
    const gate = new Gate(place)
    expect(gate.newest()).toBe(1n)
    expect([gate.enter(1), gate.enter(3), gate.enter(2)]).toEqual([false, false, true])
    gate.end()
  })
})
