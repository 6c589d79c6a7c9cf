/** What an audit finds: every value at fault by its key, and what was looked at. */
import { hex } from '../bytes.ts'
import { OptionRules } from '../check.ts'
import { isDamage } from '../layout/seal.ts'
import { giveWay, Pace } from '../turn.ts'

/** One value that is damaged, missing, or out of place. */
export interface Fault {
  /** Its key, in hexadecimal; `src/README.md` has the map. */
  readonly key: string
  readonly reason: string
  /** The ledger at fault, if the value belongs to one. */
  readonly ledger?: number
}

/** Nothing asks for the value, so it may be removed. */
export const STRAY = 'unknown value'
/** The key of the fault is only a prefix of the missing one. */
export const FORGOTTEN = 'a posting list of this index is missing; everything it named was pruned, so its key is unknown'
export const UNHELD = 'no transaction that is held has this hash'
export const NO_BASE = 'the last change of an offer that was pruned is missing'
/** What else the value told is stored nowhere else. */
export const UNNAMED = 'the name of the network, if it was given one, cannot be recovered'
export const UNCOUNTED = 'it cannot be determined whether lists that are also damaged named pruned records'
export const UNSURE = 'it may lack records that cannot be read; it can be rebuilt once the ledgers that are lost are cut'
export const UNTOLD = 'a change was begun and not finished; which one is unknown'

/** How far an audit has come. `total` is known where ledgers are counted, not where values are. */
export interface VerifyProgress {
  readonly phase: 'records' | 'values' | 'naming'
  readonly done: number
  readonly total?: number
}

export interface VerifyOptions {
  /** Called every so often with the progress. */
  readonly onProgress?: ((progress: VerifyProgress) => void) | undefined
  /**
   * Called with each fault as it is found, including those beyond {@link maxFaults}; in a store that processes share, once it is known that nobody has
   * written since the check began.
   */
  readonly onFault?: ((fault: Fault) => void) | undefined
  /** Faults kept in the report. Default 1,000. */
  readonly maxFaults?: number | undefined
  /** Stops the audit, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

export const verifyOptions = new OptionRules<VerifyOptions>('verify', {
  onProgress: 'callback',
  onFault: 'callback',
  maxFaults: { least: 0 },
  signal: 'signal',
})

export interface VerifyReport {
  /** True if nothing is at fault. */
  readonly ok: boolean
  readonly faults: readonly Fault[]
  /** How many faults were found, including those beyond `maxFaults`. */
  readonly faultCount: number
  /** A change that the next open finishes, or a repair that has to be run again; not a fault. */
  readonly unfinished?: 'rollback' | 'prune' | 'repair'
  /** The oldest and the newest ledger held; neither if there is none. */
  readonly oldest?: number
  readonly last?: number
  readonly ledgers: number
  /** Records of all logs that could be read. */
  readonly records: number
  /** Entries of posting lists that were checked against the records. */
  readonly filings: number
  /** Values in the store, and the bytes of both keys and values. */
  readonly values: number
  readonly bytes: number
}

export class Findings {
  readonly faults: Fault[] = []
  count = 0
  /** One fault of every ledger that has any, whether or not another fault of its key was found before. */
  readonly ledgers = new Map<number, Fault>()
  private readonly options: VerifyOptions
  private readonly named = new Set<string>()
  private readonly pace = new Pace()
  private readonly settled: (() => Promise<void>) | undefined
  /** Faults that may be none, if somebody has written meanwhile. */
  private readonly untold: Fault[] = []

  /** @param settled of a store to which others may write: throws if they have, so that what was found is not of one state */
  constructor(options: VerifyOptions, settled?: () => Promise<void>) {
    this.options = options
    this.settled = settled
  }

  /** Keeps the first reason given for a key: those that follow from it say less. */
  add(key: Uint8Array | string, reason: string, ledger?: number): void {
    const name = typeof key === 'string' ? key : hex(key)
    const fault: Fault = { key: name, reason, ...(ledger !== undefined && { ledger }) }
    if (ledger !== undefined && !this.ledgers.has(ledger)) this.ledgers.set(ledger, fault)
    if (this.named.has(name)) return
    this.named.add(name)
    this.count++
    if (this.faults.length < (this.options.maxFaults ?? 1000)) this.faults.push(fault)
    if (this.settled) this.untold.push(fault)
    else this.options.onFault?.(fault)
  }

  /** Tells of what was found so far. @throws what says that it is not of one state */
  async settle(): Promise<void> {
    await this.settled?.()
    for (const fault of this.untold.splice(0)) this.options.onFault?.(fault)
  }

  isNamed(key: Uint8Array): boolean {
    return this.named.has(hex(key))
  }

  /** True if a key with this prefix was named. */
  any(prefix: Uint8Array): boolean {
    const start = hex(prefix)
    for (const name of this.named) if (name.startsWith(start)) return true
    return false
  }

  /** Records damage as a finding. @throws every other error, unchanged */
  take(error: unknown, ledger?: number): void {
    if (!isDamage(error) || error.fields['key'] === undefined) throw error
    this.add(String(error.fields['key']), String(error.fields['reason']), ledger)
  }

  /** What work gives; undefined where it meets damage, which is recorded. */
  async tried<T>(work: () => T | Promise<T>, ledger?: number): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      this.take(error, ledger)
      return undefined
    }
  }

  /** A point at which the audit gives way and may be stopped, if this turn has been long. */
  step(): Promise<void> | undefined {
    return giveWay()?.then(() => this.options.signal?.throwIfAborted())
  }

  /** A point at which the audit gives way, may be stopped, and every so often reports its progress. */
  async progress(phase: VerifyProgress['phase'], done: number, total?: number): Promise<void> {
    await giveWay()
    this.options.signal?.throwIfAborted()
    if (this.count > 0) await this.settle()
    if (this.pace.isDue()) this.options.onProgress?.({ phase, done, ...(total !== undefined && { total }) })
  }
}
