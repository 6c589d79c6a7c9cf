/**
 * A store that fails: at each of its calls in turn over 50 ledgers, and at random.
 * After every failure the store holds the bytes of some number of whole ledgers, no fewer than were acknowledged; the error is typed; reads
 * go on; a handle whose write failed writes no more; and what was missed can be appended after opening it again.
 */
import { createHash } from 'node:crypto'
import { type MemoryDisk, memory, memoryDisk } from '../../adapters/memory/index.ts'
import { type Chunk, catalogue, FolioError, type Ledger, openLedger } from '../../src/index.ts'
import { FailingDisk, type Mode, modes, type Plan } from './failing-store.ts'
import { History } from './history.ts'
import { planted } from './plants.ts'
import { type Ask, Faults, type Figure, random, type Stress } from './stress.ts'

const everything = { gte: new Uint8Array(0), lt: new Uint8Array(80).fill(0xff) }

function digest(disk: MemoryDisk): string {
  const hash = createHash('sha1')
  const { entries } = disk.scan(everything, { limit: 1e9 }) as Chunk
  for (const [key, value] of entries) hash.update(`${key.length},${value.length};`).update(key).update(value)
  return hash.digest('base64')
}

/** A network, and what a store that holds the first n ledgers of it looks like. */
class Model {
  readonly history: History
  readonly fileEvery: number
  /** How many ledgers a store of these bytes holds. */
  readonly held = new Map<string, number>([[digest(memoryDisk()), 0]])

  private constructor(history: History, fileEvery: number) {
    this.history = history
    this.fileEvery = fileEvery
  }

  static async of(ledgers: number, seed: number, fileEvery: number): Promise<Model> {
    const model = new Model(await History.of({ ledgers, seed, accounts: 16, transactionsPerLedger: 2 }), fileEvery)
    const disk = memoryDisk()
    const ledger = await openLedger(memory(disk), { fileEvery })
    model.held.set(digest(disk), 0)
    for (const [i, close] of model.history.closes.entries()) {
      await ledger.append(close)
      model.held.set(digest(disk), i + 1)
    }
    return model
  }
}

interface Scenario {
  readonly model: Model
  readonly plan: Plan
  readonly deferred: boolean
  /** None is given: a batch is what comes while the one before is written. */
  readonly batch: number | undefined
  readonly lateBy: number
  readonly plant: string | undefined
  /** After a failed read, go on with the same handle. */
  readonly patient: boolean
  /** How many ledgers to append. */
  readonly ledgers: number
  /** How many more than were acknowledged, once something has failed. */
  readonly further: number
}

const codes = new Set(['STORE_FAILED', 'CONFLICT', 'POISONED'])

class Run {
  readonly faults: string[] = []
  readonly failing: FailingDisk
  private acknowledged = 0
  private goal: number
  private readonly scenario: Scenario

  constructor(scenario: Scenario) {
    this.scenario = scenario
    this.goal = scenario.ledgers
    this.failing = new FailingDisk(scenario.plan, scenario.lateBy)
  }

  async whole(): Promise<void> {
    const { model } = this.scenario
    for (let opens = 0; this.faults.length === 0; opens++) {
      // A large batch may never get through; then the store is mended.
      if (opens === 50) this.failing.plan = () => undefined
      if (opens > 60) this.faults.push('mended, and not done')
      if (await this.handle()) break
    }
    this.failing.settle()
    const held = model.held.get(digest(this.failing.disk))
    if (held !== this.goal && this.faults.length === 0)
      this.faults.push(`half: at the end the store is not that of ${this.goal} ledgers: ${held}`)
  }

  /** Opens, and appends what is left; true when all is done. */
  private async handle(): Promise<boolean> {
    const { model, deferred, patient, plant } = this.scenario
    let ledger: Ledger
    try {
      ledger = await openLedger(planted(this.failing.open(deferred), plant), { fileEvery: model.fileEvery })
    } catch (error) {
      this.judge(error, 'open')
      return false
    }
    try {
      for (;;) {
        const { failedWrites } = this.failing
        try {
          await this.append(ledger)
          return true
        } catch (error) {
          this.judge(error, 'append')
          const written = this.failing.failedWrites > failedWrites || (error instanceof FolioError && error.code !== 'STORE_FAILED')
          await this.inspect(ledger, written)
          if (written || !patient || this.faults.length > 0) return false
        }
      }
    } finally {
      await ledger.close()
    }
  }

  private async append(ledger: Ledger): Promise<void> {
    const { model, batch } = this.scenario
    const { first, closes } = model.history
    // From what was acknowledged on; what else is held is skipped.
    await ledger.ingest(closes.slice(this.acknowledged, this.goal), {
      batch,
      onBatch: (results) => {
        for (const { sequence } of results) {
          if (sequence !== first + this.acknowledged) this.faults.push(`acknowledged ${sequence}, not ${first + this.acknowledged}`)
          this.acknowledged++
        }
      },
    })
  }

  private judge(error: unknown, when: string): void {
    if (!(error instanceof FolioError && codes.has(error.code))) this.faults.push(`${when}: not a typed failure: ${error}`)
  }

  /** What must hold after a failure, with the handle still open. */
  private async inspect(ledger: Ledger, written: boolean): Promise<void> {
    const { plan } = this.failing
    this.failing.plan = () => undefined
    const { model, ledgers, further } = this.scenario
    const held = model.held.get(digest(this.failing.disk))
    if (held === undefined) this.faults.push('half: the store holds what no number of whole ledgers does')
    else if (held < this.acknowledged) this.faults.push(`lost: ${this.acknowledged} acknowledged, ${held} held`)
    const { first, closes } = model.history
    const { records } = await ledger.page(catalogue.ledgers, {}, { order: 'desc', limit: 1 })
    const read = (records[0]?.sequence ?? first - 1) - first + 1
    if (read < this.acknowledged) this.faults.push(`lost: a reader sees ${read} ledgers of ${this.acknowledged}`)
    if (written) {
      const code = await ledger.append(closes[read]!).then(String, (error) => error.code)
      if (code !== 'POISONED') this.faults.push(`a handle whose write failed answers an append with ${code}`)
    }
    this.failing.plan = plan
    this.goal = Math.min(ledgers, Math.max(read, held ?? 0) + further)
  }
}

async function scenario(given: Scenario, faults: Faults, about: string): Promise<Run> {
  const run = new Run(given)
  await run.whole().catch((error) => run.faults.push(`threw ${error.stack}`))
  faults.add(...run.faults.map((fault) => `${about}: ${fault}`))
  return run
}

/** How ledgers are appended, and how the store answers. */
const ways = [
  { batch: 1, deferred: false },
  { batch: 7, deferred: true },
  { batch: undefined, deferred: true },
  { batch: 1, deferred: true },
  { batch: 7, deferred: false },
  { batch: undefined, deferred: false },
]

/** Fails at the first call, at the second, and so on, until a run ends before it comes to fail. A read fails in one way only. */
async function exhaustively({ count, seed, plant, say }: Ask): Promise<Figure> {
  const faults = new Faults()
  const counted = { failures: 0, calls: 0, ledgers: 50 }
  const model = await Model.of(50, seed, 120)
  let done = 0
  for (const { batch, deferred } of ways.slice(0, count)) {
    const way = `batches of ${batch ?? 'what comes'}${deferred ? ', deferred' : ''}`
    let failed = true
    for (let call = 1; failed; call++)
      for (const mode of modes) {
        const plan = (asked: number): Mode | undefined => (asked === call ? mode : undefined)
        const about = `${mode} call ${call}, ${way}`
        const given = { model, plan, deferred, batch, lateBy: 1 + (call % 9), plant, patient: call % 2 === 0 }
        const { failing } = await scenario({ ...given, ledgers: 50, further: batch === undefined ? 50 : 2 * batch + 2 }, faults, about)
        failed = failing.failedWrites + failing.failedReads > 0
        if (failed) counted.failures++
        if (plant !== undefined && faults.count > 0) return { done, faults: faults.list, counted }
        if (failed) counted.calls = Math.max(counted.calls, call)
        if (failing.failedWrites === 0) break
      }
    done++
    say?.(`${way}: ${counted.failures} failures, ${faults.count} faults`)
  }
  return { done, faults: faults.list, counted }
}

async function atRandom({ count, seed, plant, say }: Ask): Promise<Figure> {
  const faults = new Faults()
  const counted = { failures: 0 }
  const chance = random(`failing ${seed}`)
  const models = await Promise.all([30, 90, 400].map((fileEvery, i) => Model.of(30, seed + i, fileEvery)))
  let done = 0
  for (; done < count; done++) {
    const of = random(`${seed} ${done}`)
    const share = of.pick([0.02, 0.05, 0.15])
    const plan = (): Mode | undefined => (of.chance(share) ? of.pick(modes) : undefined)
    const batch = of.pick([1, 2, 5, 30, undefined])
    const given = { plan, batch, plant, deferred: of.chance(0.5), patient: of.chance(0.5), lateBy: 1 + of.below(9) }
    const run = await scenario(
      { ...given, model: chance.pick(models), ledgers: 1 + of.below(12), further: 30 },
      faults,
      `seed ${seed} ${done}`,
    )
    counted.failures += run.failing.failedReads + run.failing.failedWrites
    if (plant !== undefined && faults.count > 0) break
    if (done % 5000 === 4999) say?.(`${done + 1} seeds, ${faults.count} faults`)
  }
  return { done, faults: faults.list, counted }
}

/** A way of `failing`, or seeds of `chaos`. */
const plantsAt = (count: number) => ({
  'the result of a write is ignored': count,
  'acknowledged before it is written': count,
  'two batches a ledger, the head first': count,
  'two batches a ledger, the head last': count,
})

/** In each way of use, every call fails once, in every manner that it can. */
export const failing: Stress = {
  name: 'failing',
  unit: 'ways to use a store, each of whose calls failed in turn: before, after and though applied',
  full: ways.length,
  plants: plantsAt(4),
  run: exhaustively,
}

export const chaos: Stress = {
  name: 'chaos',
  unit: 'seeds of a store that fails at random',
  full: 100_000,
  plants: plantsAt(2000),
  run: atRandom,
}
