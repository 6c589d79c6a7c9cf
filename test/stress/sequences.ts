/**
 * Appends, rollbacks, prunes and reopenings in any order, each sometimes killed at one of its writes, over memory and LevelDB.
 * Whatever happened, an open finds a state that was asked for, whole: `verify` reports nothing, digest and book are those of a store that only ever
 * held the chain as it is now, and if nothing was pruned so are the bytes.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import type { Random } from '../../adapters/generate/random.ts'
import { level } from '../../adapters/level/index.ts'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import { type CloseShape, closeOf, closeShape } from '../../adapters/testing/arbitraries.ts'
import { FolioError, type Ledger, type LedgerClose, openLedger, type Store, verifyStore, type Write } from '../../src/index.ts'
import { everything } from './databases.ts'
import { type Ask, Faults, type Figure, random, type Stress } from './stress.ts'

/** How a write ends if the process does not survive it: nothing of it applied, or all of it. Half of it only by a planted bug. */
type Death = 'before' | 'after' | 'half'

interface Fate {
  /** Writes until the process dies. */
  left: number
  death: Death
}

/** What a planted bug makes of writes and reads. */
interface Bug {
  readonly death?: Death
  readonly forgets?: number
  readonly hides?: number
}
const bugs: Readonly<Record<string, Bug>> = {
  'two batches for one': { death: 'half' },
  'an intent that is not found again': { hides: 0x02 },
  'offers below the oldest ledger that are not kept': { forgets: 0x42 },
}

const mortal = (store: Store, fate: Fate, bug: Bug | undefined): Store =>
  Object.assign(Object.create(store) as Store, {
    get: (key: Uint8Array) => (key.length === 1 && key[0] === bug?.hides ? undefined : store.get(key)),
    async write(batch: readonly Write[], options: Parameters<Store['write']>[1]) {
      const kept = batch.filter(([key]) => key[0] !== bug?.forgets)
      if (fate.left-- > 0) return store.write(kept, options)
      const death = bug?.death ?? fate.death
      if (death === 'after') await store.write(kept, options)
      if (death === 'half' && fate.left === -1) await store.write(kept.slice(0, kept.length >> 1), { durable: true })
      throw new FolioError('STORE_FAILED', { reason: 'the process was killed' })
    },
  })

interface Place {
  open(): Promise<Store>
  remove(): void
}

function onMemory(): Place {
  const disk = memoryDisk()
  return { open: async () => memory(disk), remove: () => {} }
}

function onLevel(): Place {
  const directory = mkdtempSync(join(tmpdir(), 'folio-sequence-'))
  return { open: () => level(join(directory, 'db')), remove: () => rmSync(directory, { recursive: true, force: true }) }
}

async function dump(store: Store, range = everything): Promise<string> {
  const { entries } = await store.scan(range, { limit: 1e6 })
  return entries.map(([key, value]) => `${Buffer.from(key).toString('hex')}=${Buffer.from(value).toString('base64')}`).join('\n')
}

/** @throws an error that names the first value in which the store differs from what it should be */
async function checkSame(wanted: Store, store: Store): Promise<void> {
  const [lines, found] = [(await dump(wanted)).split('\n'), (await dump(store)).split('\n')]
  const at = lines.findIndex((line, n) => line !== found[n])
  if (at >= 0 || found.length > lines.length) throw new Error(`the bytes differ: ${found[at < 0 ? lines.length : at]}, not ${lines[at]}`)
}

const book = { gte: Uint8Array.of(0x40), lt: Uint8Array.of(0x42) }

class Sequence {
  readonly said: string[] = []
  kills = 0
  private readonly random: Random
  private readonly shapes: readonly CloseShape[]
  private readonly place: Place
  private readonly fileEvery: number
  private readonly bug: Bug | undefined
  private readonly first: number
  private fate: Fate = { left: Number.POSITIVE_INFINITY, death: 'before' }
  private store!: Store
  private ledger!: Ledger
  /** The chain as it should be, with what was pruned of it. */
  private chain: LedgerClose[] = []
  private oldest = 0
  private pruned = false
  private salt = 0

  constructor(random: Random, shapes: readonly CloseShape[], place: Place, bug: Bug | undefined) {
    this.random = random
    this.shapes = shapes
    this.place = place
    this.bug = bug
    this.fileEvery = random.pick([1, 20, 200, 1e6])
    this.first = random.pick([1, 100, 2_097_150])
  }

  async run(steps: number): Promise<void> {
    await this.open()
    await this.append(3)
    for (let step = 0; step < steps; step++) {
      const { random } = this
      const [oldest, last] = [this.oldest, this.first + this.chain.length - 1]
      const kind = random.below(10)
      if (random.chance(0.35)) this.fate = { left: random.below(4), death: random.pick(['before', 'after'] as const) }
      if (kind < 5 || last < oldest) await this.append(1 + random.below(4))
      else if (kind < 8) await this.rollback(oldest + (this.pruned ? 0 : -1) + random.below(last - oldest + 2))
      else if (kind < 9) await this.prune(oldest + random.below(last - oldest + 1))
      else await this.reopen()
      this.fate = { left: Number.POSITIVE_INFINITY, death: 'before' }
      this.expectHead()
    }
    await this.check()
    await this.ledger.close()
  }

  private async open(): Promise<void> {
    this.store = await this.place.open()
    this.ledger = await openLedger(mortal(this.store, this.fate, this.bug), { fileEvery: this.fileEvery })
  }

  private async reopen(): Promise<void> {
    await this.ledger.close()
    this.fate = { left: Number.POSITIVE_INFINITY, death: 'before' }
    await this.open()
  }

  /** @returns whether the work came to its end; if it did not, the store is open again */
  private async survives(what: string, work: () => Promise<unknown>): Promise<boolean> {
    this.said.push(`${what}${Number.isFinite(this.fate.left) ? `, killed ${this.fate.death} write ${this.fate.left}` : ''}`)
    await this.refate()
    try {
      await work()
      return true
    } catch (error) {
      if (!(error instanceof FolioError) || error.code !== 'STORE_FAILED') throw error
      this.kills++
      await this.reopen()
      return false
    }
  }

  /** The wrapper of the open store is told what awaits it. */
  private async refate(): Promise<void> {
    const { fate } = this
    if (!Number.isFinite(fate.left)) return
    await this.ledger.close()
    this.fate = { left: Number.POSITIVE_INFINITY, death: fate.death }
    await this.open()
    this.fate.left = fate.left
  }

  private async append(count: number): Promise<void> {
    const closes: LedgerClose[] = []
    for (let n = 0; n < count; n++) {
      const previous = closes.at(-1) ?? this.chain.at(-1)
      const sequence = this.first + this.chain.length + n
      closes.push(closeOf(this.random.pick(this.shapes), sequence, previous?.ledger.hash, this.salt++))
    }
    const done = await this.survives(`append ${count}`, () => this.ledger.ingest(closes, { batch: 1 + this.random.below(2) }))
    const held = this.ledger.head === undefined ? 0 : this.ledger.head.last - this.first + 1
    const kept = done ? count : Math.min(count, Math.max(0, held - this.chain.length))
    if (this.chain.length === 0) this.oldest = this.first
    this.chain.push(...closes.slice(0, kept))
  }

  private async rollback(to: number): Promise<void> {
    const before = this.ledger.head
    const done = await this.survives(`rollback ${to}`, () => this.ledger.rollback(to))
    if (done || this.ledger.head?.last !== before?.last) this.chain.length = Math.min(this.chain.length, to - this.first + 1)
  }

  private async prune(before: number): Promise<void> {
    const { oldest } = this
    const done = await this.survives(`prune ${before}`, () => this.ledger.prune(before))
    if (!done && this.ledger.head?.oldest === oldest) return
    this.oldest = before
    this.pruned ||= before > this.first
  }

  private expectHead(): void {
    const { head } = this.ledger
    const newest = this.chain.at(-1)
    const is = head && `${head.oldest} ${head.last} ${head.hash}`
    const wanted = newest && `${this.oldest} ${newest.ledger.sequence} ${newest.ledger.hash.toLowerCase()}`
    if (is !== wanted) throw new Error(`the head is ${is}, not ${wanted}`)
  }

  private async check(): Promise<void> {
    const report = await verifyStore(this.store)
    if (!report.ok) throw new Error(`verify: ${JSON.stringify(report.faults[0])}`)
    const other = memory()
    const reference = await openLedger(other, { fileEvery: this.fileEvery })
    await reference.ingest(this.chain)
    if (this.chain.length > 0 && (await reference.digest({ from: this.oldest })) !== (await this.ledger.digest()))
      throw new Error('the digests differ')
    if ((await dump(other, book)) !== (await dump(this.store, book))) throw new Error('the books differ')
    if (!this.pruned) await checkSame(other, this.store)
  }
}

async function run({ count, seed, plant, say }: Ask): Promise<Figure> {
  const chance = random(seed)
  const faults = new Faults()
  // Few ledgers are large: most of the time would go into encoding them.
  const shapes = fc
    .sample(closeShape, { seed, numRuns: 100 })
    .filter(({ transactions, times }, at) => transactions.length * times <= 12 || at < 4)
  const bug = plant === undefined ? undefined : bugs[plant]!
  let [done, steps, kills, onDisk] = [0, 0, 0, 0]
  for (; done < count && !(plant !== undefined && faults.count > 0); done++) {
    const isLevel = done % 10 === 9
    const place = isLevel ? onLevel() : onMemory()
    const sequence = new Sequence(chance, shapes, place, bug)
    try {
      await sequence.run(3 + chance.below(10))
    } catch (error) {
      faults.add(`sequence ${done}${isLevel ? ' on LevelDB' : ''}: ${(error as Error).message}, after ${sequence.said.join('; ')}`)
    } finally {
      place.remove()
    }
    steps += sequence.said.length
    kills += sequence.kills
    if (isLevel) onDisk++
    if (done % 500 === 499) say?.(`${done + 1} sequences`)
  }
  return { done, faults: faults.list, counted: { steps, kills, 'on LevelDB': onDisk } }
}

export const sequences: Stress = {
  name: 'sequences',
  unit: 'sequences',
  full: 10_000,
  plants: Object.fromEntries(Object.keys(bugs).map((name) => [name, 150])),
  run,
}
