/**
 * Positions: the total order of ledger history (SEP-35), and the paging tokens that write it as text.
 *
 *     total order id = ledger (31 bits) << 32 | transaction (20 bits) << 12 | operation (12 bits)
 *
 * Kept as two 32-bit halves, since a 64-bit integer in JavaScript is a slow bigint: `hi` is the ledger, `lo` transaction and operation.
 * Effects and trades add an `index` inside their operation. Transactions, operations and effects count from 1, so `lo` 0 is the ledger itself; changes
 * of offers count from 0.
 * **Invariant:** a record appended later has a greater position, so "after the cursor" means "newer".
 */
import { badRequest, Check } from './check.ts'
import { FolioError } from './errors.ts'

export const MAX_LEDGER = 2 ** 31 - 1
export const MAX_TRANSACTION = 2 ** 20 - 1
export const MAX_OPERATION = 2 ** 12 - 1
export const MAX_INDEX = 2 ** 32 - 1
/** How far apart the low halves of two consecutive transactions are. */
export const TRANSACTION_STEP = MAX_OPERATION + 1
export const MAX_ID = 2n ** 63n - 1n

/** A ledger sequence: it has 31 bits of an id. */
export const SEQUENCE = { least: 0, most: MAX_LEDGER, whole: true } as const
export const sequences = new Check(SEQUENCE)

export interface Position {
  readonly hi: number
  readonly lo: number
  readonly index: number
}

/** The low half of an id: for the n-th transaction of a ledger and its m-th operation. */
export function low(transaction: number, operation: number, ledger: number): number {
  if (transaction > MAX_TRANSACTION || operation > MAX_OPERATION)
    throw new FolioError('ID_OUT_OF_RANGE', { ledger, transaction, operation })
  return transaction * TRANSACTION_STEP + operation
}

const halves = new DataView(new ArrayBuffer(8))

/** The 64-bit id made of two halves. Goes through memory, since bigint arithmetic allocates at every step. */
export function idOf(hi: number, lo: number): bigint {
  halves.setUint32(0, hi)
  halves.setUint32(4, lo)
  return halves.getBigUint64(0)
}

/** Ids with a smaller upper half are below 2^53, so numbers hold them. */
const SAFE_HI = 2 ** 21

/** The same as a number, if a number holds it exactly. */
export const exactId = (hi: number, lo: number): number | bigint => (hi < SAFE_HI ? hi * 4294967296 + lo : idOf(hi, lo))

export const splitId = (id: bigint): { hi: number; lo: number } => ({ hi: Number(id >> 32n), lo: Number(id & 0xffffffffn) })

const TEN_MILLION = 1e7
const BILLION = 1e9

/** The decimal digits of the id made of two halves, without a bigint, since every page has some. */
export function idText(hi: number, lo: number): string {
  if (hi < SAFE_HI) {
    // As two small integers, which engines format twice as fast as one large number.
    const id = hi * 4294967296 + lo
    const upper = Math.floor(id / TEN_MILLION)
    return upper === 0 ? String(id) : String(upper) + String(id - upper * TEN_MILLION + TEN_MILLION).slice(1)
  }
  const quotient = billionsIn(hi, lo)
  return String(quotient) + String(restOf(lo, quotient) + BILLION).slice(1)
}

/** How many times 10^9 is contained in the id made of two halves: below 2^34. */
function billionsIn(hi: number, lo: number): number {
  if (hi < SAFE_HI) return Math.floor((hi * 4294967296 + lo) / BILLION)
  // Long division in steps of 16 bits: every product stays below 2^53.
  const top = Math.floor(hi / BILLION)
  const middle = (hi - top * BILLION) * 65536 + (lo >>> 16)
  const upper = Math.floor(middle / BILLION)
  const lower = Math.floor(((middle - upper * BILLION) * 65536 + (lo & 65535)) / BILLION)
  return (top * 65536 + upper) * 65536 + lower
}

/** What is left of the id then. It is below 2^32, so the lower half is enough to tell it. */
const restOf = (lo: number, billions: number): number => (lo - Math.imul(billions, BILLION)) >>> 0

/** The token of the position after every record of a ledger and of those before it. @throws BAD_REQUEST if `ledger` is not a ledger sequence */
export function endOfLedger(ledger: number): string {
  if (!sequences.fits(ledger)) throw sequences.wrong('ledger', ledger)
  return idText(ledger, 0xffffffff)
}

const tens = Uint8Array.from({ length: 100 }, (_, n) => 48 + Math.floor(n / 10))
const ones = Uint8Array.from({ length: 100 }, (_, n) => 48 + (n % 10))

/** Writes `n` below 10^9 at `at`, as nine digits with leading zeros if `padded`; returns where it ends. */
function writeSmall(out: Uint8Array, at: number, n: number, padded: boolean): number {
  let length = 9
  if (!padded) {
    length = 1
    for (let limit = 10; n >= limit; limit *= 10) length++
  }
  let i = at + length
  while (i - at > 1) {
    const rest = (n / 100) | 0
    const pair = n - rest * 100
    out[--i] = ones[pair]!
    out[--i] = tens[pair]!
    n = rest
  }
  if (i > at) out[at] = 48 + n
  return at + length
}

/** The digits written last: a record contains the same id several times, and records of one operation follow each other. */
const last = { hi: -1, lo: -1, length: 0, digits: new Uint8Array(20) }

/** Writes the decimal digits of `hi * 2^32 + lo` at `at`; returns where they end. Both are below 2^32, `hi` below 2^31. */
export function writeId(out: Uint8Array, at: number, hi: number, lo: number): number {
  const { digits } = last
  if (hi !== last.hi || lo !== last.lo) {
    last.length = writeDigits(digits, 0, hi, lo)
    last.hi = hi
    last.lo = lo
  }
  const { length } = last
  for (let i = 0; i < length; i++) out[at + i] = digits[i]!
  return at + length
}

/** Writes an id, a dash and an index, the paging token of an indexed record: at most 30 bytes. Returns where it ends. */
export function writeIndexed(out: Uint8Array, at: number, hi: number, lo: number, index: number): number {
  const end = writeId(out, at, hi, lo)
  out[end] = 45
  return writeNumber(out, end + 1, index)
}

/** Writes the digits of a whole number below 2^32 at `at`; returns where they end. */
export const writeNumber = (out: Uint8Array, at: number, n: number): number => writeDigits(out, at, 0, n)

function writeDigits(out: Uint8Array, at: number, hi: number, lo: number): number {
  const quotient = billionsIn(hi, lo)
  const rest = restOf(lo, quotient)
  if (quotient === 0) return writeSmall(out, at, rest, false)
  if (quotient >= BILLION) {
    const top = Math.floor(quotient / BILLION)
    at = writeSmall(out, at, top, false)
    at = writeSmall(out, at, quotient - top * BILLION, true)
  } else at = writeSmall(out, at, quotient, false)
  return writeSmall(out, at, rest, true)
}

/** As {@link parseId}, but as two halves and without a bigint, since every page with a cursor parses one. */
export function parseHalves(text: string): { hi: number; lo: number } | undefined {
  const { length } = text
  if (length === 0 || length > 19) return halvesOf(parseId(text))
  let hi = 0
  let lo = 0
  // Six digits at a time: every product stays below 2^53.
  for (let i = 0; i < length; ) {
    const end = Math.min(length, i + 6)
    let six = 0
    let power = 1
    for (; i < end; i++) {
      const digit = text.charCodeAt(i) - 48
      if (digit < 0 || digit > 9) return undefined
      six = six * 10 + digit
      power *= 10
    }
    const next = lo * power + six
    const carry = Math.floor(next / 4294967296)
    lo = next - carry * 4294967296
    hi = hi * power + carry
  }
  return hi > MAX_LEDGER ? undefined : { hi, lo }
}

const halvesOf = (id: bigint | undefined): { hi: number; lo: number } | undefined => (id === undefined ? undefined : splitId(id))

/** Parses decimal digits from 0 to 2^63 - 1; undefined for anything else. */
export function parseId(text: string): bigint | undefined {
  if (!/^\d{1,40}$/.test(text)) return undefined
  const id = BigInt(text)
  return id <= MAX_ID ? id : undefined
}

/** A place between records: ascending, everything at or before it lies behind the cursor; descending, everything at or after it does. */
export interface Cursor extends Position {
  /** A bare `<n>` where tokens are `<n>-<m>`: it stands for the whole of operation n. */
  readonly whole: boolean
}

/**
 * Reads a paging token. `indexed` resources accept `<n>-<m>` and `<n>`, the others `<n>`.
 * @param field what the token was given as @throws BAD_REQUEST
 */
export function parseCursor(token: string, indexed: boolean, field = 'cursor'): Cursor {
  const cursor = cursorIn(token, indexed)
  if (cursor === undefined)
    throw badRequest(field, indexed ? '<n>-<m> or <n>, decimal digits from 0 to 2^63-1, or now' : 'decimal digits from 0 to 2^63-1, or now')
  return cursor
}

const zero = { hi: 0, lo: 0 }

function cursorIn(token: string, indexed: boolean): Cursor | undefined {
  const dash = indexed ? token.indexOf('-') : -1
  const id = parseHalves(dash < 0 ? token : token.slice(0, dash))
  const index = dash < 0 ? zero : parseHalves(token.slice(dash + 1))
  if (id === undefined || index === undefined) return undefined
  return { hi: id.hi, lo: id.lo, index: index.hi * 4294967296 + index.lo, whole: indexed && dash < 0 }
}

const tokens = new Check({
  fits: (value) => ledgerIn(value) !== undefined,
  expected: 'a paging token, <n>-<m> or <n>, or an id, as digits or a bigint, from 0 to 2^63-1',
})

function ledgerIn(token: unknown): number | undefined {
  if (typeof token === 'bigint') return token >= 0n && token <= MAX_ID ? splitId(token).hi : undefined
  return typeof token === 'string' ? cursorIn(token, true)?.hi : undefined
}

/**
 * The ledger in which a record lies, by its paging token or its id: of a ledger, a transaction, an operation, an effect or a trade. Those of an offer
 * are its number, which says nothing of a ledger.
 * @throws BAD_REQUEST if `token` is neither a paging token nor an id
 */
export function ledgerOf(token: string | bigint): number {
  const ledger = ledgerIn(token)
  if (ledger === undefined) throw tokens.wrong('token', token)
  return ledger
}
