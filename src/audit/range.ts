/** Ranges of ledgers: read back as lines, and compared by their digests. */
import { hex } from '../bytes.ts'
import { atOnce, badRequest, checkObject, OptionRules } from '../check.ts'
import { FolioError } from '../errors.ts'
import type { LedgerClose } from '../ingest/close.ts'
import { closeLine, storedRows } from '../ingest/line.ts'
import { parseJson } from '../json.ts'
import { decodeDigest } from '../layout/digest.ts'
import type { Head } from '../layout/head.ts'
import { digestKey, digestRange } from '../layout/keys.ts'
import { SEQUENCE } from '../position.ts'
import type { Reader } from '../scan/reader.ts'
import { hasher } from '../sha256.ts'
import type { MaybePromise } from '../store.ts'
import { giveWay } from '../turn.ts'

/** Ledgers `from` to `to`, both included. By default all that are held. */
export interface LedgerRange {
  readonly from?: number | undefined
  readonly to?: number | undefined
}

const bounds = new OptionRules<LedgerRange>('a range', { from: SEQUENCE, to: SEQUENCE })

/** A range as it is at the call. What is wrong with its bounds is thrown where it is asked for. @throws BAD_REQUEST */
export const takeRange = (range: LedgerRange): (() => LedgerRange) => atOnce(() => bounds.check(checkObject(range, 'range')))

/**
 * A reader that has everything and asks for what comes after the newest ledger gets an empty range; any other range holds at least one ledger.
 * @throws BAD_REQUEST if a bound is not a ledger or is newer than the newest one, or if the range ends before it begins; GONE_BEFORE_HISTORY
 */
export function checkRange({ oldest, last }: Head, range: LedgerRange): { from: number; to: number } {
  const { from = last === 0 ? 1 : oldest, to = last } = bounds.check(checkObject(range, 'range'))
  if (last === 0) {
    if (from > 1) throw badRequest('from', 'at most 1: no ledgers are held')
    if (to > 0) throw badRequest('to', 'left out: no ledgers are held')
    return { from: 1, to: 0 }
  }
  const isNext = from === last + 1 && to === last
  if (range.from !== undefined && from > to && !isNext)
    throw badRequest(
      'from',
      to === last ? `at most ${last + 1}, the one after the newest ledger` : `at most ${to}, the last ledger of the range`,
    )
  if (to > last) throw badRequest('to', `at most ${last}, the newest ledger`)
  const least = Math.min(from, to)
  if (least < oldest) throw new FolioError('GONE_BEFORE_HISTORY', { ledger: least, oldest })
  return { from, to }
}

/**
 * History may move between two reads of a range.
 * @param left the newest ledger that will be left, if a rollback is under way
 */
function checkHeld({ head: { oldest, last } }: Reader, from: number, to: number, left: number): void {
  if (from < oldest) throw new FolioError('GONE_BEFORE_HISTORY', { ledger: from, oldest })
  if (to > last) throw new FolioError('ROLLED_BACK', { last: Math.min(last, left), reached: from - 1 })
}

/** The close of a ledger as one line of JSON. @throws GONE_BEFORE_HISTORY, ROLLED_BACK, CORRUPT */
export function readLine(reader: Reader, sequence: number, left = reader.head.last): string {
  checkHeld(reader, sequence, sequence, left)
  return closeLine(storedRows(reader, sequence))
}

/** So many digests are read at a time. */
const DIGESTS = 1000

/** The digest of ledgers `from` to `to`: SHA-256 over those of each, oldest first. @param read gives those of a part, which is in order */
export async function digestOfRange(
  { from, to }: { readonly from: number; readonly to: number },
  read: (first: number, last: number) => MaybePromise<readonly Uint8Array[]>,
): Promise<string> {
  const all = hasher()
  for (let first = from; first <= to; first += DIGESTS) {
    await giveWay()
    for (const digest of await read(first, Math.min(to, first + DIGESTS - 1))) all.update(digest)
  }
  return hex(all.digest())
}

/** Lines parsed, with every digit kept. */
export async function* closesOf(lines: AsyncIterable<string>): AsyncGenerator<LedgerClose, void, undefined> {
  for await (const line of lines) yield parseJson(line) as LedgerClose
}

/** The digests of ledgers `from` to `to`, as they were stored. @throws GONE_BEFORE_HISTORY, ROLLED_BACK, CORRUPT */
export function readDigests(reader: Reader, from: number, to: number, left = reader.head.last): Uint8Array[] {
  checkHeld(reader, from, to, left)
  const { entries } = reader.scan(digestRange(from, to + 1), { limit: to - from + 1 })
  const held = new Map(entries.map(([key, value]) => [key.join(), value]))
  return Array.from({ length: to - from + 1 }, (_, n) => decodeDigest(from + n, held.get(digestKey(from + n).join())))
}
