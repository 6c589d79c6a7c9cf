/** Parses one line of NDJSON into one ledger close. */
import { parse } from 'lossless-json'
import { FolioError, type LedgerClose, parseJson } from '../../src/index.ts'
import type { Origin } from './origin.ts'

/** @throws MALFORMED_JSON; INVALID_INPUT if the line is JSON but not an object */
export function parseLine(text: string, origin: Origin): LedgerClose {
  let value: unknown
  try {
    value = parseJson(text)
  } catch (error) {
    throw new FolioError('MALFORMED_JSON', { ...origin, ...whereInLine(text, error) }, error)
  }
  if (typeof value === 'object' && value !== null) return value as LedgerClose
  throw new FolioError('INVALID_INPUT', { ...origin, path: '(the whole close)', expected: 'an object' })
}

/** `JSON.parse` often does not say where it stopped, so the line is read again by a parser that does. */
function whereInLine(text: string, error: unknown): { column?: number; reason: string } {
  if (error instanceof RangeError) return { reason: 'it is nested too deeply' }
  let { message } = error as Error
  try {
    // A name that occurs twice is no fault: the last one counts.
    parse(text, null, { onDuplicateKey: ({ newValue }) => newValue })
  } catch (second) {
    // That parser runs out of stack where this one does not: then what this one says has to do.
    if (!(second instanceof RangeError)) ({ message } = second as Error)
  }
  const [, reason = message, position] = /^(.*?)(?: encountered)? at position (\d+)$/s.exec(message) ?? []
  return { ...(position !== undefined && { column: Number(position) + 1 }), reason }
}
