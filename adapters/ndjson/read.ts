/** Reads ledger closes from files and streams of NDJSON. */
import { disposable, type LedgerClose, OptionRules } from '../../src/index.ts'
import { splitLines } from './lines.ts'
import { setOrigin } from './origin.ts'
import { parseLine } from './parse.ts'
import { type ByteOptions, nameOf, readBytes, type Source } from './source.ts'

export interface ReadClosesOptions extends ByteOptions {
  /** The longest line that is read. Default 256 MiB; a string in Node holds less than 512 MiB. */
  readonly maxLineBytes?: number | undefined
}

const readOptions = new OptionRules<ReadClosesOptions>('readCloses', {
  gunzip: [true, false, 'auto'],
  onBytes: 'callback',
  maxLineBytes: { least: 1, of: 'bytes' },
})

/**
 * Reads ledger closes, source after source. Blank lines, CRLF, a byte order mark and an unterminated last line are fine. Only the JSON is checked
 * here; whether it is a ledger close is checked when it is appended (`ingestCloses` adds the line to that error).
 * @example for await (const close of readCloses('closes.ndjson.gz')) await ledger.append(close)
 * @throws BAD_REQUEST if an option is unknown or wrong or a source is not one, before any is read, and for a stream of text; MALFORMED_JSON with `file`,
 * `line`, `column` if known, and `reason`; INVALID_INPUT for JSON that is not an object; what the file system says, as it is
 */
export function readCloses(
  sources: Source | readonly Source[],
  options: ReadClosesOptions = {},
): AsyncGenerator<LedgerClose, void, undefined> {
  return disposable(closesOf(sources, options))
}

async function* closesOf(sources: Source | readonly Source[], options: ReadClosesOptions): AsyncGenerator<LedgerClose, void, undefined> {
  const checked = readOptions.check(options)
  const { maxLineBytes = 256 * 2 ** 20 } = checked
  const list = isList(sources) ? sources : [sources]
  const named = list.map((source) => ({ source, file: nameOf(source) }))
  for (const { source, file } of named) {
    for await (const { text, number } of splitLines(readBytes(source, checked), file, maxLineBytes)) {
      const origin = { file, line: number }
      const close = parseLine(text, origin)
      setOrigin(close, origin)
      yield close
    }
  }
}

const isList = (sources: Source | readonly Source[]): sources is readonly Source[] => Array.isArray(sources)
