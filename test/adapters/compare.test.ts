/** The comparison behind `folio bench`: turns, warm-up, figures; what ends it, and that no place is left. */
import { expect, test, vi } from 'vitest'
import { type Candidate, type CompareOptions, compareStores, Incomparable, isEven, median } from '../../adapters/compare/index.ts'
import { Watch } from '../../adapters/compare/watch.ts'
import { generate } from '../../adapters/generate/index.ts'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import { type LedgerClose, openLedger, type Store } from '../../src/index.ts'

const closes = (ledgers: number, seed = 5) => generate({ ledgers, seed, accounts: 32, transactionsPerLedger: 4 }) as Iterable<LedgerClose>
const QUICK = { rounds: 1, readers: 2, runMs: 1 }

interface Tried extends Candidate {
  /** Places that were made, and those that were removed. */
  readonly places: { readonly made: number; readonly removed: number }
}

/** @param open of the nth place, for the nth time */
function candidate(
  name: string,
  open: (disk: ReturnType<typeof memoryDisk>, place: number, time: number) => Store | Promise<Store>,
): Tried {
  const places = { made: 0, removed: 0 }
  return {
    name,
    places,
    async place() {
      const disk = memoryDisk()
      const place = places.made++
      let times = 0
      return {
        open: async () => open(disk, place, times++),
        size: async () => undefined,
        remove: async () => void places.removed++,
      }
    },
  }
}

test('a store that gives a wrong answer is an error, not a figure', async () => {
  const whole = candidate('whole', memory)
  const other = memoryDisk()
  // Of twelve, four are kept back.
  await (await openLedger(memory(other))).ingest(closes(8, 6))
  // The second time it is opened, it is another store.
  const mixed = candidate('mixed', (disk, _, time) => memory(time === 0 ? disk : other))
  await expect(compareStores([whole, mixed], closes(12), QUICK)).rejects.toThrow(
    new Incomparable('mixed answers transactions differently from whole'),
  )
  expect([whole.places, mixed.places]).toEqual([
    { made: 1, removed: 1 },
    { made: 1, removed: 1 },
  ])
})

test('stores are warmed up in places of their own, and take turns in either order', async () => {
  const turns: string[] = []
  const noted = (name: string): Tried =>
    candidate(name, (disk, place) => {
      const store = memory(disk)
      if (place === 0) return store
      turns.push(`open ${name}`)
      const write: Store['write'] = (batch, options) => {
        if (turns.at(-1) !== `write ${name}`) turns.push(`write ${name}`)
        return store.write(batch, options)
      }
      return { ...bound(store), write }
    })
  const [a, b] = [noted('a'), noted('b')]
  const { ledgers, known, rows } = await compareStores([a, b], closes(45), { rounds: 2, readers: 2, runMs: 0.001 })
  expect([ledgers, known, a.places, b.places]).toEqual([45, 0, { made: 2, removed: 2 }, { made: 2, removed: 2 }])
  const writes = turns.filter((turn) => turn.startsWith('write')).join(' ')
  // Ten ledgers a turn: a b, b a, a b, b a, a b. Opening writes too.
  expect(writes).toMatch(/^(write a )?(write b )?write a write b write a write b write a write b/)
  const opens = turns.filter((turn) => turn.startsWith('open')).map((turn) => turn.at(-1))
  // First and again, then in two rounds of two turns each.
  expect(opens.join('')).toBe(`abab${'abba'.repeat(2)}`)
  for (const { name, figures, ratio, ratios, alike } of rows) {
    if (name.endsWith(', 200') || name === 'an open' || name === 'a durable ledger')
      expect([name, ratio, ratios, alike]).toEqual([name, [1, expect.any(Number)], [[1, 1], expect.any(Array)], [true, true]])
    if (name !== 'on disk') expect(figures, name).toEqual([expect.any(Number), expect.any(Number)])
  }
})

/** The members of a store that are methods of its class, on a plain object. */
const bound = (store: Store): Store => ({
  capabilities: store.capabilities,
  get: (key) => store.get(key),
  getMany: (keys) => store.getMany(keys),
  scan: (range, options) => store.scan(range, options),
  write: (batch, options) => store.write(batch, options),
  close: () => store.close(),
})

test('ledgers are read as they are appended, and not all held', async () => {
  let [given, appended, most] = [0, 0, 0]
  const source = function* (): Generator<LedgerClose> {
    for (const close of closes(400)) {
      given++
      yield close
    }
  }
  const noted = candidate('noted', (disk, place) => {
    const store = memory(disk)
    const write: Store['write'] = (batch, options) => {
      if (place === 1) most = Math.max(most, given - ++appended)
      return store.write(batch, options)
    }
    return { ...bound(store), write }
  })
  expect(await compareStores([noted], source(), QUICK)).toMatchObject({ ledgers: 400 })
  expect(most).toBeLessThanOrEqual(100)
})

test.for(['ingesting', 'closing', 'warming up: transactions, 10', 'warming up: several readers', 'warming up: several readers, while'])(
  'a signal that comes while %s is heeded',
  async (step) => {
    const stop = new AbortController()
    const tried = candidate('tried', memory)
    let began = Number.NaN
    const onStep = (said: string): void => {
      // Not before the event loop turns, as the system delivers a signal.
      if (said.startsWith(step))
        setTimeout(() => {
          if (!stop.signal.aborted) began = performance.now()
          stop.abort('SIGINT')
        })
    }
    // Rounds without end, unless it is heeded.
    const options: CompareOptions = { rounds: 100_000, runMs: 5, signal: stop.signal, onStep }
    await expect(compareStores([tried], closes(step === 'ingesting' ? 20_000 : 12), options)).rejects.toBe('SIGINT')
    expect(performance.now() - began).toBeLessThan(15_000)
    expect(tried.places.removed).toBe(tried.places.made)
  },
)

const never = new Promise<never>(() => {})

test.for(['open', 'getMany', 'write', 'close'] as const)('a store that never answers %s is named, and its place removed', async (call) => {
  const silent = candidate('mine', (disk) => (call === 'open' ? never : { ...bound(memory(disk)), [call]: () => never }))
  const other = candidate('other', memory)
  await expect(compareStores([other, silent], closes(12), { ...QUICK, patienceMs: 100 })).rejects.toThrow(
    new Incomparable(`mine never answered ${call}`),
  )
  expect([silent.places, other.places]).toEqual([
    { made: 1, removed: 1 },
    { made: 1, removed: 1 },
  ])
})

test('a signal ends the wait for a store that never answers', async () => {
  const stop = new AbortController()
  const silent = candidate('mine', () => {
    setTimeout(() => stop.abort('SIGINT'), 20)
    return never
  })
  await expect(compareStores([silent], closes(12), { signal: stop.signal })).rejects.toBe('SIGINT')
  expect(silent.places).toEqual({ made: 1, removed: 1 })
})

test('a store that is still being opened when a signal ends the wait is closed before its place is removed', async () => {
  for (const patient of ['its store', 'its ledger']) {
    const stop = new AbortController()
    const events: string[] = []
    const late = async (): Promise<void> => {
      stop.abort('SIGINT')
      await new Promise((resolve) => setTimeout(resolve, 30))
      events.push('opened')
    }
    const slow: Candidate = {
      name: 'slow',
      place: () => ({
        async open() {
          const store = memory()
          if (patient === 'its store') await late()
          let asked = 0
          const get: Store['get'] = async (key) => {
            if (patient === 'its ledger' && asked++ === 0) await late()
            return store.get(key)
          }
          const close = async () => {
            events.push('closed')
            await store.close()
          }
          return { ...bound(store), get, close }
        },
        remove: async () => void events.push('removed'),
      }),
    }
    await expect(compareStores([slow], closes(12), { signal: stop.signal })).rejects.toBe('SIGINT')
    expect(events, patient).toEqual(['opened', 'closed', 'removed'])
  }
})

test('a store that is slow, but goes on answering, is waited for', async () => {
  const slow = candidate('slow', (disk) => {
    const store = memory(disk)
    const write: Store['write'] = async (batch, options) => {
      await new Promise((resolve) => setTimeout(resolve, 60))
      return store.write(batch, options)
    }
    return { ...bound(store), write }
  })
  expect(await compareStores([slow], closes(8), { ...QUICK, patienceMs: 150 })).toMatchObject({ ledgers: 8 })
})

test('patience lasts as long as is said, whenever the last sign of life came', async () => {
  vi.useFakeTimers()
  try {
    const watch = new Watch(undefined, 30_000)
    let end: unknown
    watch
      .wait(
        (): Promise<never> => never,
        () => new Incomparable('silent'),
      )
      .catch((error) => {
        end = error
      })
    await vi.advanceTimersByTimeAsync(1500)
    watch.alive()
    await vi.advanceTimersByTimeAsync(30_000)
    expect(end).toBeUndefined()
    await vi.advanceTimersByTimeAsync(1000)
    expect(end).toEqual(new Incomparable('silent'))
  } finally {
    vi.useRealTimers()
  }
})

const noWire = (): never => {
  throw new Error('no wire')
}

test.for([
  ['a promise was rejected that nobody waits for', (): unknown => void Promise.resolve().then(noWire)],
  ['an error was thrown that nobody catches', (): unknown => void setImmediate(noWire)],
] as const)('a store is named after whose call %s, and its place removed', async ([says, stray]) => {
  const host: NodeJS.EventEmitter = process
  const events = ['uncaughtException', 'unhandledRejection']
  // Those of whoever runs the tests would fail them.
  const others = events.map((event) => host.rawListeners(event))
  for (const event of events) host.removeAllListeners(event)
  try {
    const mine = candidate('mine', (disk) => {
      const store = memory(disk)
      const write: Store['write'] = async (batch, options) => {
        stray()
        // Some turns later it is known that nobody waits for it.
        await new Promise((resolve) => setTimeout(resolve, 5))
        return store.write(batch, options)
      }
      return { ...bound(store), write }
    })
    const message = `after mine was asked for write, ${says}: no wire`
    await expect(compareStores([candidate('other', memory), mine], closes(12), QUICK)).rejects.toMatchObject({ message })
    expect(mine.places).toEqual({ made: 1, removed: 1 })
    expect(events.map((event) => host.listenerCount(event))).toEqual([0, 0])
  } finally {
    for (const [at, event] of events.entries()) for (const one of others[at]!) host.on(event, one as () => void)
  }
})

test('of an even number of rounds, the median lies between the middle ones', () => {
  expect([median([3]), median([4, 1]), median([9, 1, 2]), median([1, 100, 2, 4])]).toEqual([3, 2.5, 2, 3])
})

test('two stores are told apart if nearly all rounds say the same', () => {
  const rounds = (above: number, below: number): number[] => [...Array(above).fill(1.1), ...Array(below).fill(0.9)]
  expect([isEven(rounds(7, 0)), isEven(rounds(0, 7)), isEven(rounds(6, 1)), isEven(rounds(6, 0)), isEven([1, 1, 1])]).toEqual([
    false,
    false,
    true,
    true,
    true,
  ])
  expect([isEven(rounds(16, 4)), isEven(rounds(15, 5)), isEven(rounds(1000, 0)), isEven(rounds(520, 480))]).toEqual([
    false,
    true,
    false,
    true,
  ])
})
