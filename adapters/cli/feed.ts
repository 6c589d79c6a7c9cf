/** Feeds the files of a command line to a ledger, and acknowledges each ledger. */
import { access, constants, stat } from 'node:fs/promises'
import type { IngestResult, Ledger } from '../../src/index.ts'
import { ingestCloses, readCloses } from '../ndjson/index.ts'
import { type Io, print, unlessStopped } from './io.ts'

export interface FeedOptions {
  readonly batch?: number
  /** Print one line `{"ledger":N}` for each ledger, with a single write, when it is durable and visible (also for one that was already held). */
  readonly json?: boolean
  readonly onBytes?: (count: number) => void
  readonly onLedger?: () => void
}

/**
 * Checks that inputs can be read before anything is created or begun for them. Their content is not touched: nothing of a pipe is lost.
 * @throws what the file system says
 */
export async function checkInputs(files: readonly string[]): Promise<void> {
  for (const file of files) {
    if (file === '-') continue
    await access(file, constants.R_OK)
    if ((await stat(file)).isDirectory())
      throw Object.assign(
        new Error(`EISDIR: '${file}' is a directory, not a file of ledger closes; folio export makes a file from a store`),
        {
          code: 'EISDIR',
          syscall: 'read',
        },
      )
  }
}

/** @param files paths; `-` is standard input, plain or gzip */
export async function feed(io: Io, ledger: Ledger, files: readonly string[], options: FeedOptions): Promise<IngestResult> {
  const { batch = 1, json = false, onBytes, onLedger } = options
  const closes = readCloses(
    files.map((file) => (file === '-' ? io.stdin : file)),
    onBytes && { onBytes },
  )
  try {
    return await ingestCloses(ledger, closes, {
      batch,
      signal: io.signal,
      onLedger: async ({ sequence }) => {
        onLedger?.()
        if (json) await print(io, `{"ledger":${sequence}}\n`).catch(unlessStopped(io))
      },
    })
  } finally {
    // Standard input waiting for more would keep the process from exiting.
    if (files.includes('-')) io.stdin.destroy()
  }
}
