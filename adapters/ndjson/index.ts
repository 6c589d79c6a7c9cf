/**
 * NDJSON of ledger closes, one a line, plain or gzip: read with every digit exact, in bounded memory, each close knowing its line.
 */
import { parse } from 'lossless-json'
import { FolioError, type LedgerClose, parseJson } from '../../src/index.ts'
import { splitLines } from './lines.ts'
import { type ByteOptions, nameOf, readBytes, type Source } from './source.ts'

export { type IngestClosesOptions, ingestCloses } from './ingest.ts'
export type { ByteOptions, Source } from './source.ts'

export interface ReadClosesOptions extends ByteOptions {
  /** The longest line that is read. Default 256 MiB; a string of Node holds less than 512 MiB. */
  readonly maxLineBytes?: number
}

/** Where a close was read. */
export interface Origin {
  /** The path as given; `-` for a stream. */
  readonly file: string
  /** Counts from 1. */
  readonly line: number
}

const origins = new WeakMap<object, Origin>()

/** Where a close that {@link readCloses} gave was read; undefined for others. */
export const originOf = (close: LedgerClose): Origin | undefined => origins.get(close)

/** The error of a close, with the file and line that the close was read from. Errors that no close is to blame for stay as they are. */
export function locateError(error: unknown, close: LedgerClose): unknown {
  const origin = originOf(close)
  if (!origin || !(error instanceof FolioError) || error.status >= 500) return error
  return new FolioError(error.code, { ...origin, ...error.fields }, error)
}

/**
 * Reads ledger closes, source after source. Blank lines, CRLF, a byte order mark and a last line without its end are fine.
 * Only the JSON is checked here; whether it is a ledger close is checked where it is appended ({@link ingestCloses} adds the line to that error).
 * @example for await (const close of readCloses('closes.ndjson.gz')) await ledger.append(close)
 * @throws MALFORMED_JSON with `file`, `line`, `column` where known, and `reason`; what the file system says, as it is
 */
export async function* readCloses(
  sources: Source | readonly Source[],
  options: ReadClosesOptions = {},
): AsyncGenerator<LedgerClose, void, undefined> {
  const { maxLineBytes = 256 * 2 ** 20 } = options
  for (const source of isList(sources) ? sources : [sources]) {
    const file = nameOf(source)
    for await (const { text, number } of splitLines(readBytes(source, options), file, maxLineBytes)) {
      const origin = { file, line: number }
      const close = parseLine(text, origin)
      origins.set(close, origin)
      yield close
    }
  }
}

const isList = (sources: Source | readonly Source[]): sources is readonly Source[] => Array.isArray(sources)

function parseLine(text: string, origin: Origin): LedgerClose {
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
    parse(text)
  } catch (second) {
    ;({ message } = second as Error)
  }
  const [, reason = message, position] = /^(.*?)(?: encountered)? at position (\d+)$/s.exec(message) ?? []
  return { ...(position !== undefined && { column: Number(position) + 1 }), reason }
}
