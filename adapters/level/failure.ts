/** What LevelDB and the file system report, as errors of ours. */
import { FolioError } from '../../src/errors.ts'
import { denial, fs } from '../directory/index.ts'

/** LevelDB passes the system's error on as text only. */
const DENIED_TEXT = /Permission denied|Operation not permitted|Read-only file system/
/** A file that LevelDB needs is gone, or shorter than other files say. A damaged CURRENT may name any file. */
const CORRUPT_TEXT = /^IO error: (.*): (No such file|Invalid argument)/

/** What went wrong, as an error of ours; `location` names the store. */
export function failure(error: unknown, location: string): FolioError {
  if (error instanceof FolioError) return error
  let { code, message, cause } = error as { code?: string; message: string; cause?: { code?: string; message: string } }
  // "Database failed to open" wraps the reason; without a reason, the database is closed.
  if (code === 'LEVEL_DATABASE_NOT_OPEN' && cause) ({ code, message } = cause)
  if (code === 'LEVEL_DATABASE_NOT_OPEN' || code === 'LEVEL_ITERATOR_NOT_OPEN') return new FolioError('CLOSED', { location })
  if (code === 'LEVEL_LOCKED') return new FolioError('STORE_LOCKED', { location }, error)
  const denied = denial({ code, message }, location, error)
  if (denied) return denied
  if (DENIED_TEXT.test(message)) return new FolioError('STORE_DENIED', { location, reason: message }, error)
  const [, path] = CORRUPT_TEXT.exec(message) ?? []
  if (path?.startsWith(location) && !fs().existsSync(location))
    return new FolioError('STORE_MISSING', { location, reason: 'the directory is gone' }, error)
  if (code === 'LEVEL_CORRUPTION' || CORRUPT_TEXT.test(message)) return new FolioError('CORRUPT', { location, reason: message }, error)
  return new FolioError('STORE_FAILED', { location, reason: message }, error)
}
