/** The side columns of the ledger log: how much there was of everything after a ledger. */
import { ledgers } from '../resources/ledger.ts'
import type { Block } from './block.ts'

export type LedgerSides = readonly [ends: string, topOffer: string, filed: string]

const { ends, top_offer, filed } = ledgers.columns
const COMMA = 44

/**
 * @param counts of every log, by tag
 * @param topOffer the highest offer id so far
 * @param filedTo the ledger up to which posting lists were complete
 */
export const ledgerSides = (counts: readonly number[], topOffer: string, filedTo: number): LedgerSides => [
  counts.join(),
  topOffer,
  String(filedTo),
]

/** The counts of every log after a ledger; NaN for one that is not a whole number. */
export function endsOf(block: Block, at: number): number[] {
  const { bytes } = block.region
  const start = block.sideStart(at, ends)
  const end = start + block.sideLength(at, ends)
  const counts: number[] = []
  let count = 0
  // From the bytes: every page from an old place reads some, and to split and parse text would take a tenth of its time.
  for (let i = start; i < end; i++) {
    const digit = bytes[i]! - 48
    if (digit >= 0 && digit <= 9) count = count * 10 + digit
    else if (bytes[i] === COMMA) {
      counts.push(count)
      count = 0
    } else count = Number.NaN
  }
  counts.push(count)
  return counts
}

/** The highest offer id after a ledger, as text. */
export const topOfferAt = (block: Block, at: number): string => block.side(at, top_offer)

/** The ledger up to which posting lists were complete after a ledger; NaN for what is not a number. */
export const filedAt = (block: Block, at: number): number => Number(block.side(at, filed))

/** The same two from the sides of a row. */
export const topOfferOf = (sides: readonly string[]): string => sides[top_offer]!
export const filedOf = (sides: readonly string[]): number => Number(sides[filed])
