/**
 * The bytes of a source: a file or a stream, decompressed if gzipped.
 * **Invariant:** a source is read no faster than its bytes are taken; leaving it early closes the file.
 */
import { createReadStream } from 'node:fs'
import { pipeline, Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { createGunzip } from 'node:zlib'
import { badRequest, FolioError } from '../../src/index.ts'

/** A path, its `file:` URL, or a stream of bytes (such as `process.stdin`), which errors call `-`. */
export type Source = string | URL | AsyncIterable<Uint8Array>

export interface ByteOptions {
  /** Whether to decompress: always, never, or (default) if the first two bytes are those of gzip. */
  readonly gunzip?: boolean | 'auto' | undefined
  /** Called with how many more bytes were taken from the source, before decompression. */
  readonly onBytes?: ((count: number) => void) | undefined
}

const noSource = (found: string): FolioError => badRequest('sources', 'paths, file: URLs, or streams of bytes', found)

/** What errors call a source. @throws BAD_REQUEST if it is none */
export function nameOf(source: Source): string {
  if (typeof source === 'string') return source
  if (source instanceof URL) return pathOf(source)
  if (typeof source?.[Symbol.asyncIterator] !== 'function') throw noSource(typeof source)
  return '-'
}

/** Not every `file:` URL names a file: none with an escaped slash does and, but on Windows, none with a host. */
function pathOf(url: URL): string {
  try {
    return fileURLToPath(url)
  } catch {
    throw noSource(url.protocol === 'file:' ? url.href : url.protocol)
  }
}

/** Large reads: a thread hop costs more than copying. */
const READ_BYTES = 1 << 18

/** @throws MALFORMED_JSON naming the file, if its gzip is truncated or damaged; BAD_REQUEST for a stream of text; file system errors unchanged */
export async function* readBytes(source: Source, { gunzip = 'auto', onBytes }: ByteOptions): AsyncGenerator<Uint8Array, void, undefined> {
  const isFile = typeof source === 'string' || source instanceof URL
  const given = isFile ? createReadStream(source, { highWaterMark: READ_BYTES }) : source
  const inner = counted(given, !isFile, onBytes)
  /** How many chunks were asked for and have not come: gunzip asks ahead. */
  let owed = 0
  const chunks: AsyncIterator<Uint8Array> = {
    next() {
      owed++
      return inner.next().finally(() => owed--)
    },
  }
  try {
    const { start, ended } = await firstTwo(chunks)
    const packed = gunzip === 'auto' ? start[0] === 0x1f && start[1] === 0x8b : gunzip
    const whole = joined(start, ended ? undefined : chunks)
    if (packed) yield* unpacked(whole, nameOf(source))
    else yield* whole
  } finally {
    const left = inner.return(undefined)
    if (owed === 0) await left
    else {
      // A chunk that is owed may never come: neither leaving nor an error waits for it. A stream lets go of it.
      left.catch(() => {})
      if (given instanceof Readable) given.destroy()
    }
  }
}

/** @param copies since what gives them may write the next one over the last: what is left of a line, or not unpacked yet, is still needed then */
async function* counted(chunks: AsyncIterable<Uint8Array>, copies: boolean, onBytes?: (count: number) => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    // Once decoded, nothing tells whether that was done correctly, nor how many bytes there were.
    if (!(chunk instanceof Uint8Array)) throw noSource(`a stream of ${typeof chunk}`)
    onBytes?.(chunk.length)
    yield copies ? Buffer.from(chunk) : chunk
  }
}

/** The first chunks, until they hold two bytes: a pipe may deliver a single byte. */
async function firstTwo(chunks: AsyncIterator<Uint8Array>): Promise<{ start: Uint8Array; ended: boolean }> {
  let start: Uint8Array = new Uint8Array(0)
  while (start.length < 2) {
    const { done, value } = await chunks.next()
    if (done) return { start, ended: true }
    start = start.length === 0 ? value : Buffer.concat([start, value])
  }
  return { start, ended: false }
}

async function* joined(start: Uint8Array, rest: AsyncIterator<Uint8Array> | undefined): AsyncGenerator<Uint8Array> {
  yield start
  for (let next = await rest?.next(); next && !next.done; next = await rest?.next()) yield next.value
}

/** Errors that zlib reports about the data, as opposed to errors from reading the file. */
const damage: Record<string, string> = {
  Z_BUF_ERROR: 'the gzip data is cut off in the line after the last one that was read',
  Z_DATA_ERROR: 'the gzip data is damaged, in or after the lines that were read: what was stored of them may be wrong, too',
}

/** @param chunks not closed here: what gunzip takes no more is still looked at */
async function* unpacked(chunks: AsyncIterable<Uint8Array>, file: string): AsyncGenerator<Uint8Array> {
  const source = chunks[Symbol.asyncIterator]()
  let given = 0
  /** How many of the bytes that were given come before the last ones that are zeros. */
  let withoutPadding = 0
  const next = async (): Promise<IteratorResult<Uint8Array>> => {
    const step = await source.next()
    if (step.done) return step
    const last = step.value.findLastIndex((byte) => byte !== 0)
    if (last >= 0) withoutPadding = given + last + 1
    given += step.value.length
    return step
  }
  // The pipeline's own promise is not needed: the iteration below throws the same error.
  const gunzip = pipeline(Readable.from({ [Symbol.asyncIterator]: () => ({ next }) }), createGunzip({ chunkSize: READ_BYTES }), () => {})
  try {
    yield* gunzip
    while (!(await next()).done);
  } catch (error) {
    const reason = damage[(error as NodeJS.ErrnoException).code ?? '']
    throw reason ? new FolioError('MALFORMED_JSON', { file, reason }, error) : error
  }
  // At the first zero after what it has unpacked, gunzip ends, as if all that follows were padding.
  if (withoutPadding > gunzip.bytesWritten)
    throw new FolioError('MALFORMED_JSON', { file, reason: 'after the gzip data come zeros, and then something else, which was not read' })
}
