/** Stores compared under load: several readers at once, ledgers appended meanwhile, and stores that bear neither. */
import { expect, test } from 'vitest'
import { type Candidate, type CompareOptions, compareStores, Incomparable } from '../../adapters/compare/index.ts'
import { percentile } from '../../adapters/compare/measure.ts'
import { generate } from '../../adapters/generate/index.ts'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import { type LedgerClose, openLedger, type Store } from '../../src/index.ts'

const closes = (ledgers: number) =>
  Array.from(generate({ ledgers, seed: 5, accounts: 32, transactionsPerLedger: 4 }) as Iterable<LedgerClose>)
const QUICK = { rounds: 1, runMs: 1, readers: 2 }

/** What is done, without the warm-up. */
interface Doing extends CompareOptions {
  readonly step: { now: string }
}

function doing(options: CompareOptions = {}): Doing {
  const step = { now: '' }
  const onStep = (said: string): void => {
    step.now = said
  }
  return { ...QUICK, ...options, step, onStep }
}

/** A store whose every answer comes later, with other calls. */
function candidate(name: string, calls: (store: Store, place: number) => Partial<Store> = () => ({})): Candidate {
  let places = 0
  return {
    name,
    place: () => {
      const disk = memoryDisk()
      const place = places++
      return {
        open() {
          const store = memory(disk)
          const { capabilities } = store
          const late: Store = {
            capabilities: { ...capabilities, sync: false },
            get: async (key) => store.get(key),
            getMany: async (keys) => store.getMany(keys),
            scan: async (range, options) => store.scan(range, options),
            write: async (batch, options) => store.write(batch, options),
            close: async () => store.close(),
          }
          return { ...late, ...calls(late, place) }
        },
      }
    },
  }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('as many pages are asked for at once as there are readers', async () => {
  const most = new Map<string, number>()
  const { step, ...options } = doing({ readers: 5 })
  let open = 0
  const noted = candidate('noted', (store) => ({
    async getMany(keys) {
      most.set(step.now, Math.max(most.get(step.now) ?? 0, ++open))
      await turn()
      await turn()
      open--
      return store.getMany(keys)
    },
  }))
  await compareStores([noted], closes(12), options)
  expect([most.get('transactions, 10'), most.get('several readers')]).toEqual([1, 5])
})

test('ledgers are appended in turns while readers go on', async () => {
  const turns: string[] = []
  const { step, ...options } = doing({ rounds: 2, readers: 3 })
  const noted = (name: string): Candidate =>
    candidate(name, (store) => {
      let read = 0
      return {
        getMany(keys) {
          read++
          return store.getMany(keys)
        },
        async write(batch, options) {
          // Nobody reads while stores are opened, after the warm-up.
          if (step.now === 'several readers, while ledgers are appended') {
            // It would never be answered if readers waited for it.
            for (const before = read; read < before + 50; ) await turn()
            turns.push(name)
          }
          return store.write(batch, options)
        },
      }
    })
  const { ledgers, known, rows } = await compareStores([noted('a'), noted('b')], closes(24), options)
  expect([ledgers, known, turns.join('')]).toEqual([24, 0, 'abba'.repeat(4)])
  const row = rows.find(({ name }) => name === '3 readers beside appends')
  expect(row).toMatchObject({ unit: '/s', figures: [expect.any(Number), expect.any(Number)], alike: [true, true] })
})

test('a store that confuses requests which are made at once is an error, not a figure', async () => {
  const later = (close: LedgerClose): LedgerClose => ({ ...close, ledger: { ...close.ledger, closed_at: '2031-01-01T00:00:00Z' } })
  const disk = memoryDisk()
  const ledger = await openLedger(memory(disk))
  await ledger.ingest(closes(12).map(later))
  const other = memory(disk)
  let open = 0
  const confused = candidate('mine', (store) => ({
    async getMany(keys) {
      open++
      await turn()
      const answer = open === 1 ? store.getMany(keys) : other.getMany(keys)
      open--
      return answer
    },
  }))
  await expect(compareStores([confused], closes(12), { ...QUICK, readers: 4 })).rejects.toThrow(
    new Incomparable('mine answers 4 readers at once differently from one alone'),
  )
})

test.for(['getMany', 'write'] as const)('a store that fails a %s under load is named', async (call) => {
  const { step, ...options } = doing()
  const failing = candidate('mine', (store) => ({
    async [call](...given: [any, any]) {
      if (step.now.includes('appended')) throw new Error('no wire')
      return (store[call] as (...given: [any, any]) => unknown)(...given)
    },
  }))
  await expect(compareStores([candidate('other'), failing], closes(12), options)).rejects.toThrow('mine fails: no wire')
})

test('a store that never answers a write under load is named', async () => {
  const { step, ...options } = doing({ patienceMs: 100, readers: 1 })
  const silent = candidate('mine', (store) => ({
    write: (batch, options) => (step.now.includes('appended') ? new Promise<never>(() => {}) : store.write(batch, options)),
  }))
  await expect(compareStores([silent], closes(12), options)).rejects.toThrow(new Incomparable('mine never answered write'))
})

test('a percentile is the least figure that so many of a hundred do not exceed', () => {
  const list = Array.from({ length: 200 }, (_, at) => 200 - at)
  expect([percentile(list, 99), percentile(list, 50), percentile([7], 99), percentile([], 99)]).toEqual([198, 100, 7, undefined])
})
