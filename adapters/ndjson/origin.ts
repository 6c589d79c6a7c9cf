/** Where a close was read, kept beside it, so that an error of the close can name the line. */
import { FolioError, type LedgerClose } from '../../src/index.ts'

export interface Origin {
  /** The path as given; `-` for a stream. */
  readonly file: string
  /** Counted from 1. */
  readonly line: number
}

const origins = new WeakMap<object, Origin>()

export const setOrigin = (close: LedgerClose, origin: Origin): void => void origins.set(close, origin)

/** Where a close given by `readCloses` was read; undefined for others. */
export const originOf = (close: LedgerClose): Origin | undefined => origins.get(close)

/** The error of a close, with the file and line from which the close was read. Errors that are not the fault of a close stay as they are. */
export function locateError(error: unknown, close: LedgerClose): unknown {
  const origin = originOf(close)
  if (!origin || !(error instanceof FolioError) || error.status >= 500) return error
  return new FolioError(error.code, { ...origin, ...error.fields }, error)
}
