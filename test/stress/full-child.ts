/** The process whose disk is full: it appends until it cannot, waits until there is space again, and says what it saw. */
import { level } from '../../adapters/level/index.ts'
import { hasCode } from '../../src/errors.ts'
import { type Ledger, openLedger, type Store } from '../../src/index.ts'
import { History } from './history.ts'
import { planted } from './plants.ts'

/** A point at which the disk is full. */
export interface Point {
  readonly seed: number
  readonly data: string
  readonly writeBufferBytes: number | undefined
  readonly batch: number | undefined
  readonly plant: string | undefined
  /** Opens it again while the disk is still full. */
  readonly impatient: boolean
}

/** What the parent is told: first that the disk is full, then what was wrong. */
export type Told = { readonly full: boolean; readonly acknowledged: number } | { readonly faults: readonly string[] }

const tell = (told: Told): void => void process.send!(told)
const nextMessage = <T>(): Promise<T> => new Promise((resolve) => process.once('message', resolve as (message: unknown) => void))

/** A bug to plant: the handle forgets that one of its writes failed. */
export const FORGETFUL = 'a handle goes on writing after an error'

export async function fullChild(): Promise<void> {
  let history: History | undefined
  for (;;) {
    const point = await nextMessage<Point>()
    history ??= await History.of({ ledgers: 400, seed: point.seed })
    tell({ faults: await new Attempt(history, point).run() })
  }
}

class Attempt {
  private readonly faults: string[] = []
  private acknowledged = 0
  private readonly history: History
  private readonly point: Point

  constructor(history: History, point: Point) {
    this.history = history
    this.point = point
  }

  async run(): Promise<string[]> {
    try {
      const [store, ledger] = await this.open('while it fills').catch((): [] => [])
      const full = !ledger || (await this.fill(ledger))
      if (this.point.impatient && ledger && full && this.point.plant === undefined) await this.reopenWhileFull(ledger)
      tell({ full, acknowledged: this.acknowledged })
      await nextMessage()
      if (this.point.plant === FORGETFUL && store) await this.goOn(store)
      await ledger?.close().catch((error) => this.typed(error, 'close'))
      await this.after()
    } catch (error) {
      this.faults.push(`threw ${(error as Error).stack}`)
    }
    return this.faults
  }

  private async open(when: string): Promise<[Store, Ledger]> {
    const { data, writeBufferBytes, plant } = this.point
    try {
      const store = await level(data, writeBufferBytes === undefined ? {} : { writeBufferBytes })
      return [store, await openLedger(planted(store, plant === FORGETFUL ? undefined : plant))]
    } catch (error) {
      this.typed(error, `open ${when}`)
      throw error
    }
  }

  private typed(error: unknown, when: string): void {
    if (!hasCode(error, 'STORE_FAILED')) this.faults.push(`${when}: not STORE_FAILED: ${error}`)
  }

  /** Appends until it fails: true. Reads go on then, and writes do not. */
  private async fill(ledger: Ledger): Promise<boolean> {
    const { closes, first } = this.history
    try {
      await ledger.ingest(closes, {
        batch: this.point.batch,
        onBatch: (results) => {
          this.acknowledged = results.at(-1)!.sequence
        },
      })
      return false
    } catch (error) {
      this.typed(error, 'append')
    }
    this.faults.push(...(await this.history.check(ledger, this.acknowledged)))
    const next = closes[Math.max(0, this.acknowledged - first + 1)]!
    const code = await ledger.append(next).then(String, (error) => error.code)
    if (code !== 'POISONED') this.faults.push(`after the failure an append gives ${code}`)
    return true
  }

  /** Whatever a full disk still allows: an answer, or a typed error. */
  private async reopenWhileFull(before: Ledger): Promise<void> {
    await before.close().catch((error) => this.typed(error, 'close while full'))
    const [, ledger] = await this.open('while full').catch((): [] => [])
    if (!ledger) return
    this.faults.push(...(await this.history.check(ledger, this.acknowledged)))
    await this.append(ledger, 3).catch((error) => this.typed(error, 'append while full'))
    await ledger.close().catch((error) => this.typed(error, 'close while full'))
  }

  /** There is space again: everything is there, and it carries on. */
  private async after(): Promise<void> {
    for (const again of [1, 2]) {
      const [, ledger] = await this.open(`again, ${again}`)
      this.faults.push(...(await this.history.check(ledger!, this.acknowledged)).map((fault) => `opened again: ${fault}`))
      await this.append(ledger!, 3)
      await ledger!.close()
    }
  }

  private async append(ledger: Ledger, count: number): Promise<void> {
    const from = (ledger.head?.last ?? this.history.first - 1) - this.history.first + 1
    for (const close of this.history.closes.slice(from, from + count)) this.acknowledged = (await ledger.append(close)).sequence
  }

  /** The planted bug: the handle is used as if nothing had failed. */
  private async goOn(store: Store): Promise<void> {
    Object.defineProperty(store, 'poison', { get: () => undefined, set: () => {} })
    const ledger = await openLedger(store)
    await this.append(ledger, 20).catch(() => {})
  }
}
