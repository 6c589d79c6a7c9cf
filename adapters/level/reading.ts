/** Reads a file piece by piece, holding one window of it at a time. */
import { fsPromises } from '../directory/index.ts'

const WINDOW = 1 << 20
/** What a disk reads or fails to read as a whole: sectors have at most that many bytes. */
const SECTOR = 4096

/** What bytes are read from. */
export interface ByteSource {
  readonly size: number
  /** Bytes `from` up to but excluding `to`; fewer if there are no more. */
  read(from: number, to: number): Promise<Uint8Array>
}

export class FileReader implements ByteSource {
  readonly size: number
  /** The first place that the disk could not read, if there is one; zeros stand for what is there. */
  unreadable: number | undefined
  private readonly handle: import('node:fs/promises').FileHandle
  private window: Uint8Array = new Uint8Array(0)
  private from = 0

  private constructor(handle: import('node:fs/promises').FileHandle, size: number) {
    this.handle = handle
    this.size = size
  }

  static async open(path: string): Promise<FileReader> {
    const handle = await fsPromises().open(path, 'r')
    return new FileReader(handle, (await handle.stat()).size)
  }

  /** A view of its window, which it keeps alive. */
  async read(from: number, to: number): Promise<Uint8Array> {
    const end = Math.min(to, this.size)
    if (from < this.from || end > this.from + this.window.length) {
      const length = Math.max(0, Math.min(Math.max(WINDOW, end - from), this.size - from))
      this.window = await this.readAll(from, length).catch((error) => {
        if (error.code !== 'EIO') throw error
        return this.readSectors(from, length)
      })
      this.from = from
    }
    return this.window.subarray(from - this.from, Math.max(0, end - this.from))
  }

  close(): Promise<void> {
    return this.handle.close()
  }

  private async readAll(from: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length)
    let read = 0
    while (read < length) {
      const { bytesRead } = await this.handle.read(bytes, read, length - read, from + read)
      if (bytesRead === 0) break
      read += bytesRead
    }
    return bytes.subarray(0, read)
  }

  /** The same, sector by sector. */
  private async readSectors(from: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length)
    for (let at = from; at < from + length; ) {
      const end = Math.min(from + length, at - (at % SECTOR) + SECTOR)
      try {
        bytes.set(await this.readAll(at, end - at), at - from)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EIO') throw error
        this.unreadable = Math.min(this.unreadable ?? at, at)
      }
      at = end
    }
    return bytes
  }
}

/** LEB128 numbers and length-prefixed bytes; NaN and undefined past the end. */
export class Cursor {
  at = 0
  private readonly bytes: Uint8Array
  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  get done(): boolean {
    return this.at >= this.bytes.length
  }

  varint(): number {
    let value = 0
    for (let scale = 1; scale < 2 ** 64; scale *= 128) {
      const byte = this.bytes[this.at++]
      if (byte === undefined) return Number.NaN
      value += (byte & 127) * scale
      if (byte < 128) return value
    }
    return Number.NaN
  }

  take(length: number): Uint8Array | undefined {
    if (!(length >= 0) || this.at + length > this.bytes.length) return undefined
    this.at += length
    return this.bytes.subarray(this.at - length, this.at)
  }

  slice(): Uint8Array | undefined {
    return this.take(this.varint())
  }
}
