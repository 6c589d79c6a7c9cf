/** Entity tags: checksums of what a body is made of, folded into one short text. */
import { type Block, utf8 } from '../../src/index.ts'

const QUOTE = 34
const LETTERS = utf8('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_')
const six = (bits: number): number => LETTERS[bits & 63]!

const foldA = (a: number, sum: number): number => Math.imul((a << 13) | (a >>> 19), 0x9e3779b1) ^ sum
const foldB = (b: number, sum: number): number => Math.imul(b + sum, 0x85ebca6b) ^ (b >>> 15)

/** Folds checksums into an entity tag of 64 bits. The order of what is folded matters. */
export class Tag {
  private a = 0x2545f491
  private b = 0x9e3779b9 | 0

  add(sum: number): void {
    this.a = foldA(this.a, sum)
    this.b = foldB(this.b, sum)
  }

  /** Folds the marks of neighbouring records, from the `first`-th to the `last`-th. */
  addMarks(block: Block, first: number, last: number): void {
    const step = first <= last ? 1 : -1
    let { a, b } = this
    for (let at = first; at !== last + step; at += step) {
      const mark = block.mark(at)
      a = foldA(a, mark)
      b = foldB(b, mark)
    }
    this.a = a
    this.b = b
  }

  toString(): string {
    const { a, b } = this
    // Six bits per character. Number.prototype.toString takes ten times as long for any base other than ten.
    return String.fromCharCode(
      QUOTE,
      six(a),
      six(a >> 6),
      six(a >> 12),
      six(a >> 18),
      six(a >> 24),
      six((a >>> 30) | ((b & 15) << 2)),
      six(b >> 4),
      six(b >> 10),
      six(b >> 16),
      six(b >> 22),
      six(b >>> 28),
      QUOTE,
    )
  }
}
