/** Another history of the same length. */
import type { LedgerClose } from '../../src/index.ts'

/** Ledgers in place of those from `at` on, without transactions. */
export function insteadOf(closes: readonly LedgerClose[], at: number): LedgerClose[] {
  let prev = closes[at - 1]!.ledger.hash
  return closes.slice(at).map(({ ledger }) => {
    const hash = `ab${ledger.hash.slice(2)}`
    const close = { ledger: { ...ledger, hash, prev_hash: prev }, transactions: [] }
    prev = hash
    return close
  })
}
