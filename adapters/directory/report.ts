/** What a check of the files of a store is told, and what it finds. */
import { OptionRules } from '../../src/check.ts'

/** A file at fault, and where in it. */
export interface FileFault {
  readonly file: string
  readonly at?: number
  readonly reason: string
}

export interface FilesReport {
  readonly ok: boolean
  readonly faults: readonly FileFault[]
  readonly files: number
  readonly bytes: number
  /** Logs that end in a record that was being written when the process died or the power failed. Not a fault: it was never acknowledged. */
  readonly torn: readonly string[]
}

export interface FilesOptions {
  /**
   * Check the blocks of tables if these have at most this many bytes together; otherwise only that each is there, with its full size. Default: no
   * bound.
   */
  readonly tableBytes?: number | undefined
  readonly onFile?: ((file: string, bytes: number) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

export const filesOptions = new OptionRules<FilesOptions>('checkFiles', {
  tableBytes: { least: 0, of: 'bytes' },
  onFile: 'callback',
  signal: 'signal',
})
