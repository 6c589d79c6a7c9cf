/**
 * Cuts bytes into lines of text.
 * **Invariant:** at most one line, and the chunks that it lies in, are held, and a line never grows past its limit.
 */
import { isUtf8 } from 'node:buffer'
import { FolioError } from '../../src/index.ts'

export interface Line {
  readonly text: string
  /** Counted from 1, including blank lines. */
  readonly number: number
}

const LINE_FEED = 0x0a

/** The lines that are not blank, without their line end (LF or CRLF) and without a byte order mark. @throws MALFORMED_JSON: too long, not UTF-8 */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  file: string,
  maxBytes: number,
): AsyncGenerator<Line, void, undefined> {
  let parts: Uint8Array[] = []
  let held = 0
  let number = 1
  const take = (last: Uint8Array): Line | undefined => {
    checkLength(held + last.length, number)
    const bytes = parts.length === 0 ? last : Buffer.concat([...parts, last])
    parts = []
    held = 0
    const text = decode(bytes, number)
    return text.trim() === '' ? undefined : { text, number }
  }
  const checkLength = (length: number, line: number): void => {
    if (length > maxBytes) throw new FolioError('MALFORMED_JSON', { file, line, reason: `the line is longer than ${maxBytes} bytes` })
  }
  const decode = (bytes: Uint8Array, line: number): string => {
    // Whatever else a file is packed with shows in its first line.
    const hint = line === 1 ? '; only gzip is unpacked, and only once' : ''
    if (!isUtf8(bytes)) throw new FolioError('MALFORMED_JSON', { file, line, reason: `the line is not UTF-8 text${hint}` })
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
    return line === 1 && text.startsWith('\uFEFF') ? text.slice(1) : text
  }
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      const line = take(chunk.subarray(start, end))
      start = end + 1
      if (line) yield line
      number++
    }
    if (start === chunk.length) continue
    parts.push(chunk.subarray(start))
    held += chunk.length - start
    checkLength(held, number)
  }
  const line = take(new Uint8Array(0))
  if (line) yield line
}
