/** The inputs of a command line, read and fed to a ledger, each ledger acknowledged. */
import { fstatSync } from 'node:fs'
import { access, constants, stat } from 'node:fs/promises'
import type { AppendResult, IngestResult, Ledger, LedgerClose } from '../../src/index.ts'
import { ingestCloses, type ReadClosesOptions, readCloses } from '../ndjson/index.ts'
import { Begun, Unreadable, unreadable } from './errors.ts'
import { countOf, digits, type Io, noteOf, print, unlessStopped } from './io.ts'

export interface FeedOptions {
  readonly batch?: number | undefined
  /** Print one line `{"ledger":N}` for each ledger, with a single write, when it is durable and visible (also for one that was already held). */
  readonly json?: boolean
  readonly onBytes?: (count: number) => void
  readonly onLedger?: (result: AppendResult) => void
}

/**
 * Checks that inputs can be read before anything is created or begun for them. Their content is not touched: nothing of a pipe is lost.
 * @throws Unreadable
 */
export async function checkInputs(io: Io, files: readonly string[]): Promise<void> {
  for (const file of files)
    if (file === '-' ? isInputDirectory(io) : await isDirectory(file))
      throw new Unreadable(`EISDIR: '${file}' is a directory, not a file of ledger closes; folio export makes a file from a store`)
}

async function isDirectory(file: string): Promise<boolean> {
  await access(file, constants.R_OK).catch(unreadable)
  return (await stat(file).catch(unreadable)).isDirectory()
}

/** Node takes a directory as standard input for an empty one. */
function isInputDirectory({ stdin }: Io): boolean {
  try {
    return stdin === process.stdin && fstatSync(0).isDirectory()
  } catch {
    // It is closed.
    return false
  }
}

/** The closes of files, one after another; `-` is standard input. @throws Unreadable, and as `readCloses` */
export async function* closesOf(
  io: Io,
  files: readonly string[],
  options?: ReadClosesOptions,
): AsyncGenerator<LedgerClose, void, undefined> {
  try {
    yield* readCloses(
      files.map((file) => (file === '-' ? io.stdin : file)),
      options,
    )
  } catch (error) {
    unreadable(error as NodeJS.ErrnoException)
  }
}

/** Standard input waiting for more would keep the process from exiting. It is opened once it is asked for. */
export function leaveInputs(io: Io, files: readonly string[]): void {
  if (files.includes('-')) io.stdin.destroy()
}

/** @param files paths; `-` is standard input, plain or gzip */
export async function feed(io: Io, ledger: Ledger, files: readonly string[], options: FeedOptions): Promise<IngestResult> {
  const { batch, json = false, onBytes, onLedger } = options
  try {
    return await ingestCloses(ledger, closesOf(io, files, { onBytes }), {
      batch,
      signal: io.signal,
      onLedger: async (result) => {
        onLedger?.(result)
        if (json) await print(io, `{"ledger":${result.sequence}}\n`).catch(unlessStopped(io))
      },
    })
  } finally {
    leaveInputs(io, files)
  }
}

/** What goes into a ledger, counted meanwhile: an error of the ingest does not say it. */
export class Counted {
  private readonly ledger: Ledger
  private readonly verb: string
  private readonly counts = { appended: 0, known: 0 }

  constructor(ledger: Ledger, verb = 'ingested') {
    this.ledger = ledger
    this.verb = verb
  }

  readonly take = ({ appended }: AppendResult): void => void this.counts[appended ? 'appended' : 'known']++

  get soFar(): IngestResult {
    return { ...this.counts, last: this.ledger.head?.last }
  }

  /** For people. */
  get summary(): string {
    const { appended, known, last } = this.soFar
    const held = known > 0 ? `, ${digits(known)} held already` : ''
    const newest = last === undefined ? 'the store is empty' : `newest ${last}`
    return `${this.verb} ${countOf(appended, 'ledger')}${held}; ${newest}`
  }

  /** For `catch`. @throws Begun */
  readonly told = (error: unknown): never => {
    throw new Begun(noteOf(`before that, ${this.summary}`), error)
  }
}
