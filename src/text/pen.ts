/**
 * Writes the parts of a text on a sheet, and notes where its values are and what its frame consists of. See `writer.ts` for whole texts.
 * **Invariant:** a text begun lies on one sheet: where that has no more room, what was begun moves to another.
 */
import { byteLength, copy, utf8, writeAscii, writeText } from '../bytes.ts'
import { longInteger } from '../json.ts'
import { Apart, cutUp, frameIn, isOfName, isSimple, NAME, Sheet } from './apart.ts'
import { knownFrame, learnFrame, type Name, NUMBER, STRING, wordNumber } from './names.ts'

/** Most texts of a ledger fit on one. */
const SHEET_BYTES = 64 * 1024
const SHEET_CUTS = 4096
/** Room for a short string or a number, with quotes and what may follow. */
const SHORT = 64
/** Texts with longer rows are cut when they are whole. */
export const MAX_ROW = 1024

/** Characters with which a string cannot be written as it is, or may look as if it held a long number ({@link longInteger}). */
const special = /[^ !#-+\--9;-Z\]-~]/
/** Fewer characters cannot look like that. */
const LOOKS_LONG = 17
/** What is written for the kinds that are words themselves. */
const written = ['', '', 'true', 'false', 'null'].map(utf8)
const QUOTE = 34
const COMMA = 44

/** At least as many bytes as a text takes: they are counted only where that saves much. */
const mostBytes = (value: string): number => (value.length > SHEET_BYTES ? byteLength(value) : 3 * value.length)

export class Pen {
  private sheet = new Sheet(SHEET_BYTES, SHEET_CUTS)
  /** Where the text begins, and where it ends so far. */
  protected start = 0
  protected at = 0
  /** The number of its first cut, and of the next one. */
  protected first = 0
  protected cut = 0
  /** The numbers of what its frame consists of. */
  private readonly row = new Int32Array(MAX_ROW)
  protected length = 0
  /** False once something was written of which there are no numbers: then the text is cut when it is whole. */
  protected known = true
  /** As in {@link Apart}. */
  protected simple = true
  /** The members of the input hold numbers that `JSON.parse` would change. */
  exact = false
  isOpen = false

  /** Begins a text. It must be ended or abandoned before the next one. */
  begin(): this {
    this.length = 0
    this.known = true
    this.simple = true
    this.exact = false
    this.isOpen = true
    return this
  }

  /** Gives up what was begun. */
  abandon(): void {
    this.at = this.start
    this.cut = this.first
    this.isOpen = false
  }

  end(): Apart {
    const frame = this.known ? (knownFrame(this.row, this.length) ?? learnFrame(this.row, this.length, this.frame)) : this.foundFrame()
    const { sheet, start, at, first, cut, simple } = this
    this.start = at
    this.first = cut
    this.isOpen = false
    return new Apart(sheet, start, at - start, first, (cut - first) / 2, frame, simple)
  }

  private foundFrame(): string {
    this.cut = this.first
    this.makeRoom(0, this.at - this.start)
    this.cut += 2 * cutUp(this.sheet, this.start, this.at, this.first)
    const { sheet, start, first, cut } = this
    for (let at = first; at < cut && this.simple; at += 2)
      this.simple = isSimple(sheet.bytes, start + sheet.cuts[at]!, start + sheet.cuts[at + 1]!)
    return this.frame
  }

  private get frame(): string {
    return frameIn(this.sheet, this.start, this.at, this.first, (this.cut - this.first) / 2)
  }

  /** Writes JSON text. */
  raw(json: string): this {
    this.makeRoom(mostBytes(json), 0)
    this.at += writeText(this.sheet.bytes, this.at, json)
    this.known = false
    return this
  }

  /** Writes a bracket or a brace, with room behind it for a short value. */
  protected bracket(kind: number, code: number): void {
    this.makeRoom(SHORT, 0)
    this.row[this.length++] = kind
    this.sheet.bytes[this.at++] = code
  }

  /** Writes a comma, with room behind it for a short value. */
  protected comma(): void {
    this.makeRoom(SHORT, 0)
    this.sheet.bytes[this.at++] = COMMA
  }

  /** Writes the name of a member, after a comma if need be, with room behind it for a short value. */
  protected name({ number, piece, looksLong }: Name): void {
    const { length } = piece.bytes
    if (looksLong) this.exact = true
    this.makeRoom(length + SHORT, 0)
    this.row[this.length++] = number
    const { region, bytes } = this.sheet
    const isFirst = this.at === this.start || bytes[this.at - 1] === 123
    const skipped = isFirst ? 1 : 0
    this.at = copy(region, this.at, piece, skipped, length - skipped)
  }

  protected kind(kind: number): void {
    this.row[this.length++] = kind
    const piece = written[kind]!
    const { bytes } = this.sheet
    bytes.set(piece, this.at)
    this.at += piece.length
  }

  protected text(value: string): void {
    const { length } = value
    if (length <= NAME) {
      if (this.shortText(value)) return
    } else if (!special.test(value)) {
      this.makeRoom(length + SHORT, 0)
      const { bytes } = this.sheet
      const from = this.at + 1
      bytes[from - 1] = QUOTE
      writeAscii(bytes, from, value)
      bytes[from + length] = QUOTE
      this.at = from + length + 1
      this.hole(STRING, from, from + length)
      return
    }
    const json = JSON.stringify(value)
    this.exact ||= longInteger.test(json)
    this.makeRoom(mostBytes(json) + SHORT, 0)
    const from = this.at
    const to = from + writeText(this.sheet.bytes, from, json)
    this.at = to
    // First, since a hole may move the text.
    this.simple &&= isSimple(this.sheet.bytes, from + 1, to - 1)
    this.hole(STRING, from + 1, to - 1)
  }

  /** Writes a string of up to {@link NAME} characters, if it can be written as it is. */
  private shortText(value: string): boolean {
    const { length } = value
    const { bytes } = this.sheet
    const from = this.at + 1
    let isWord = length > 0
    for (let at = 0; at < length; at++) {
      const code = value.charCodeAt(at)
      if (isWord && !isOfName(code, at === 0)) isWord = false
      if (code < 32 || code > 126 || code === QUOTE || code === 92) return false
      bytes[from + at] = code
    }
    if (length >= LOOKS_LONG && longInteger.test(value)) return false
    bytes[from - 1] = QUOTE
    bytes[from + length] = QUOTE
    this.at = from + length + 1
    if (isWord) this.row[this.length++] = wordNumber(value)
    else this.hole(STRING, from, from + length)
    return true
  }

  protected digits(digits: string): void {
    const { length } = digits
    if (length > SHORT / 2) this.makeRoom(length + SHORT, 0)
    const { bytes } = this.sheet
    const from = this.at
    for (let at = 0; at < length; at++) bytes[from + at] = digits.charCodeAt(at)
    this.at = from + length
    this.hole(NUMBER, from, this.at)
  }

  private hole(kind: number, from: number, to: number): void {
    if (this.cut + 2 > this.sheet.cuts.length) {
      const by = this.start
      this.makeRoom(0, 2)
      from += this.start - by
      to += this.start - by
    }
    this.row[this.length++] = kind
    const { cuts } = this.sheet
    cuts[this.cut++] = from - this.start
    cuts[this.cut++] = to - this.start
  }

  /** Moves what was begun to another sheet if this one has no room for more bytes, or more cuts. */
  private makeRoom(bytes: number, cuts: number): void {
    const { sheet, start, at, first, cut } = this
    if (at + bytes <= sheet.bytes.length && cut + cuts <= sheet.cuts.length) return
    const next = new Sheet(Math.max(SHEET_BYTES, 2 * (at - start) + bytes), Math.max(SHEET_CUTS, 2 * (cut - first) + cuts))
    next.bytes.set(sheet.bytes.subarray(start, at))
    next.cuts.set(sheet.cuts.subarray(first, cut))
    this.sheet = next
    this.start = 0
    this.at = at - start
    this.first = 0
    this.cut = cut - first
  }
}
