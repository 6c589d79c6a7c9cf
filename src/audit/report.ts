/** What an audit finds: every value at fault by its key, and what was looked at. */
import { hex } from '../bytes.ts'
import { FolioError } from '../errors.ts'

/** One value that is damaged, missing, or out of place. */
export interface Fault {
  /** Its key, in hexadecimal; `src/README.md` has the map. */
  readonly key: string
  readonly reason: string
  /** The ledger at fault, where it is of one. */
  readonly ledger?: number
}

/** Nothing asks for the value: it may go. */
export const STRAY = 'it is not known what this is'
/** The key is only what the missing one began with. */
export const FORGOTTEN = 'a posting list of this index is missing; all that it named was pruned, so its key cannot be told'
/** What the value told besides is nowhere else. */
export const UNNAMED = 'the name of the network, where it was given one, cannot be told'
export const UNCOUNTED = 'whether lists that are damaged besides named what was pruned cannot be told'
export const UNTOLD = 'a change was begun and not finished; which one cannot be told'

/** How far an audit is. `total` is known where it counts ledgers, not where it counts values. */
export interface VerifyProgress {
  readonly phase: 'records' | 'values' | 'naming'
  readonly done: number
  readonly total?: number
}

export interface VerifyOptions {
  /** Told now and then how far it is. */
  readonly onProgress?: ((progress: VerifyProgress) => void) | undefined
  /** Told of each fault as it is found; also of those beyond {@link maxFaults}. */
  readonly onFault?: ((fault: Fault) => void) | undefined
  /** Faults kept in the report. Default 1,000. */
  readonly maxFaults?: number | undefined
  /** Stops it: it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

export const VERIFY_NAMES = ['onProgress', 'onFault', 'maxFaults', 'signal'] as const

export interface VerifyReport {
  /** True where nothing is at fault. */
  readonly ok: boolean
  readonly faults: readonly Fault[]
  /** All that were found, also those beyond `maxFaults`. */
  readonly faultCount: number
  /** A change that the next open finishes, or a repair that is to be run again; no fault. */
  readonly unfinished?: 'rollback' | 'prune' | 'repair'
  readonly oldest?: number
  readonly last?: number
  readonly ledgers: number
  readonly records: number
  /** Entries of posting lists that were held against the records. */
  readonly filings: number
  readonly values: number
  readonly bytes: number
}

export class Findings {
  readonly faults: Fault[] = []
  count = 0
  private readonly options: VerifyOptions
  private readonly named = new Set<string>()
  private last = 0

  constructor(options: VerifyOptions) {
    this.options = options
  }

  /** The first reason that a key is named for is kept: what follows from it says less. */
  add(key: Uint8Array | string, reason: string, ledger?: number): void {
    const name = typeof key === 'string' ? key : hex(key)
    if (this.named.has(name)) return
    this.named.add(name)
    this.count++
    const fault: Fault = { key: name, reason, ...(ledger !== undefined && { ledger }) }
    if (this.faults.length < (this.options.maxFaults ?? 1000)) this.faults.push(fault)
    this.options.onFault?.(fault)
  }

  isNamed(key: Uint8Array): boolean {
    return this.named.has(hex(key))
  }

  /** True where a key that begins so was named. */
  any(prefix: Uint8Array): boolean {
    const start = hex(prefix)
    for (const name of this.named) if (name.startsWith(start)) return true
    return false
  }

  /** Takes damage as a finding. @throws every other error, as it is */
  take(error: unknown, ledger?: number): void {
    if (!(error instanceof FolioError) || error.code !== 'CORRUPT' || error.fields['key'] === undefined) throw error
    this.add(String(error.fields['key']), String(error.fields['reason']), ledger)
  }

  /** A place where it may be stopped, and tells how far it is, every so often. */
  progress(phase: VerifyProgress['phase'], done: number, total?: number): void {
    this.options.signal?.throwIfAborted()
    const now = Date.now()
    if (now - this.last < 100) return
    this.last = now
    this.options.onProgress?.({ phase, done, ...(total !== undefined && { total }) })
  }
}
