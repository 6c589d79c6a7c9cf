/** A buffer for what is written, such as records, before it becomes a body or a frame. */
import { copy, Region, SLACK, writeAscii, writeText } from '../../src/index.ts'

/** The bytes of a buffer, as long as nothing written at a time needs more. */
export const CHUNK = 64 * 1024

/** A buffer written front to back; when it is full, a larger one takes its place. */
export class Out extends Region {
  at = 0

  constructor() {
    super(Region.room(CHUNK).bytes)
  }

  /** Makes room for `more` bytes from `at` on, and the slack of `copy`; `bytes` and `at` may change. */
  reserve(more: number): void {
    if (this.at + more + SLACK <= this.bytes.length) return
    const larger = Region.room(Math.max(2 * this.bytes.length, this.at + more + SLACK)).bytes
    larger.set(this.bytes.subarray(0, this.at))
    this.use(larger)
  }

  text(text: string): void {
    this.reserve(text.length * 3)
    this.at += writeText(this.bytes, this.at, text)
  }

  /** Copies all of a region, where there is room for it. */
  put(region: Region): void {
    this.at = copy(this, this.at, region, 0, region.bytes.length)
  }

  /** Writes text that consists of ASCII characters only; returns where it starts. */
  ascii(text: string): number {
    this.reserve(text.length)
    const start = this.at
    this.at += writeAscii(this.bytes, start, text)
    return start
  }
}
