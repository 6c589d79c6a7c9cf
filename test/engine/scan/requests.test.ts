/** What a read asks of a store that answers at once, late, or now and then at once: each value once, and its errors reach whoever reads. */
import { describe, expect, test } from 'vitest'
import { FolioError } from '../../../src/errors.ts'
import { Requests } from '../../../src/scan/requests.ts'
import type { Chunk, KeyRange, MaybePromise, ScanOptions, Store } from '../../../src/store.ts'

type Value = Uint8Array | undefined

const keyOf = (id: number): Uint8Array => Uint8Array.of(id)
/** What the store holds: two bytes under each key below 100, and nothing above. */
const heldUnder = ([id]: Uint8Array): Value => (id! < 100 ? Uint8Array.of(id!, id!) : undefined)

/** How a store answers. One that is not `sync` may answer at once all the same. */
const manners = {
  'at once': { sync: true, answer: <T>(value: T): MaybePromise<T> => value },
  late: { sync: false, answer: <T>(value: T): MaybePromise<T> => Promise.resolve(value) },
  'at once, though it need not,': { sync: false, answer: <T>(value: T): MaybePromise<T> => value },
} as const

function asked(manner: keyof typeof manners) {
  const { sync, answer } = manners[manner]
  const calls: string[] = []
  const store = {
    capabilities: { sync },
    get(key: Uint8Array) {
      calls.push(`get ${key}`)
      return answer(heldUnder(key))
    },
    getMany(keys: readonly Uint8Array[]) {
      calls.push(`getMany ${keys.join()}`)
      return answer(keys.map(heldUnder))
    },
    scan({ gte, lt }: KeyRange, { limit, reverse = false }: ScanOptions) {
      calls.push(`scan ${gte} ${lt} ${limit} ${reverse}`)
      return answer<Chunk>({ entries: [[gte, Uint8Array.of(lt[0]!, limit, Number(reverse))]], more: false })
    },
  } as unknown as Store
  const requests = new Requests(store)
  let again = 0
  const run = async <T>(read: () => T): Promise<T> => requests.run(read, () => void again++)
  return { store, requests, calls, run, runs: () => again + 1 }
}

const get = (requests: Requests, id: number): Value => requests.get(id, keyOf(id))
const ids = [3, 4, 120]
const values = ids.map((id) => heldUnder(keyOf(id)))

describe.each(Object.keys(manners) as (keyof typeof manners)[])('of a store that answers %s', (manner) => {
  test('a value is asked for once, whether it is there or not', async () => {
    const { requests, calls, run } = asked(manner)
    expect(await run(() => ids.map((id) => get(requests, id)))).toEqual(values)
    expect(calls).toEqual(ids.map((id) => `get ${id}`))
    expect(requests.stats).toMatchObject({ gets: 3, bytes: 4 })
  })

  test('many are asked for in one call, but for those that are there', async () => {
    const { requests, calls, run } = asked(manner)
    const keys = new Map(ids.map((id) => [id, keyOf(id)]))
    const read = (): Value[] => {
      requests.getMany(keys)
      return ids.map((id) => get(requests, id))
    }
    expect(await run(read)).toEqual(values)
    requests.getMany(keys)
    requests.getMany(new Map())
    expect(calls).toEqual(['getMany 3,4,120'])
    expect(requests.stats).toMatchObject({ gets: 1, bytes: 4 })
  })

  test('ranges are asked for once each, and their bytes are counted', async () => {
    const { requests, calls, run } = asked(manner)
    const scans = [
      [0, 9, 5, false],
      [1, 9, 5, false],
      [1, 8, 5, false],
      [1, 8, 4, false],
      [1, 8, 4, true],
    ] as const
    const read = () =>
      scans.map(([gte, lt, limit, reverse]) => requests.scan({ gte: keyOf(gte), lt: keyOf(lt) }, { limit, reverse }).entries[0]!)
    expect(await run(read)).toEqual(scans.map(([gte, lt, limit, reverse]) => [keyOf(gte), Uint8Array.of(lt, limit, Number(reverse))]))
    expect(calls).toEqual(scans.map((scan) => `scan ${scan.join(' ')}`))
    expect(requests.stats).toMatchObject({ scans: 5, bytes: 15 })
  })

  test('what the steps of many items miss is asked for in one call', async () => {
    const { requests, calls, run, runs } = asked(manner)
    const read = (): Value[] => {
      const found: Value[] = []
      requests.each(ids, (id) => void found.push(get(requests, id)))
      return found
    }
    expect(await run(read)).toEqual(values)
    expect(calls).toEqual(manner === 'at once' ? ids.map((id) => `get ${id}`) : ['getMany 3,4,120'])
    expect(runs()).toBe(manner === 'at once' ? 1 : 2)
  })

  test('steps ask for many, and for more once those have come', async () => {
    const { requests, calls, run } = asked(manner)
    const read = (): number => {
      let sum = 0
      requests.each(ids, (id) => {
        requests.getMany(new Map([id, id + 1].map((one) => [one, keyOf(one)])))
        const [value] = get(requests, id) ?? [50]
        sum += get(requests, value! + 10)?.[0] ?? 0
      })
      return sum
    }
    expect(await run(read)).toBe(13 + 14 + 60)
    if (manner !== 'at once') expect(calls).toEqual(['getMany 3,4,5,120,121', 'getMany 13,14,60'])
  })

  test('the error of a step ends the read, whatever the steps before it wait for', async () => {
    const { requests, run, runs } = asked(manner)
    const read = (): void =>
      requests.each(ids, (id) => {
        if (id === 4) throw new FolioError('CORRUPT', { reason: 'as a test has it' })
        get(requests, id)
      })
    await expect(run(read)).rejects.toMatchObject({ code: 'CORRUPT' })
    expect(runs()).toBe(1)
    // Nothing is left of it: what is asked for next is asked of the store.
    expect(await run(() => get(requests, 7))).toEqual(heldUnder(keyOf(7)))
  })

  test('what the store throws, or its promise is rejected with, ends the read', async () => {
    const { store, requests, run } = asked(manner)
    const failed = new Error('as a test has it')
    const fail = (): Promise<never> => {
      if (manner === 'late') return Promise.reject(failed)
      throw failed
    }
    Object.assign(store, { get: fail, getMany: fail, scan: fail })
    await expect(run(() => get(requests, 1))).rejects.toBe(failed)
    await expect(run(() => requests.getMany(new Map([[1, keyOf(1)]])))).rejects.toBe(failed)
    await expect(run(() => requests.scan({ gte: keyOf(0), lt: keyOf(9) }, { limit: 5 }))).rejects.toBe(failed)
    await expect(run(() => requests.each(ids, (id) => void get(requests, id)))).rejects.toBe(failed)
  })
})
