/**
 * A network in which one account does everything and has a million effects (a tenth with `quick`): it shows what depth costs.
 */
import { createHash } from 'node:crypto'
import type { GeneratedClose } from '../adapters/generate/index.ts'

const OPERATIONS = 20
const EFFECTS = 100
export const BUSY_ACCOUNT = 'GBUSYACCOUNTWITHAMILLIONENTRIES2222222222222222222222222'

const hash = (text: string): string => createHash('sha256').update(text).digest('hex')

export function* busyNetwork(entries: number): Generator<GeneratedClose> {
  const ledgers = Math.ceil(entries / (OPERATIONS * EFFECTS))
  for (let n = 1; n <= ledgers; n++) {
    const effects = Array.from({ length: EFFECTS }, (_, i) => ({
      ...{ account: BUSY_ACCOUNT, type: 'account_credited', type_i: 2, amount: `${n}.${String(i).padStart(7, '0')}`, asset_type: 'native' },
    }))
    const operation = { type: 'bump_sequence', type_i: 11, bump_to: String(n), effects }
    yield {
      ledger: {
        ...{ hash: hash(`ledger ${n}`), prev_hash: n === 1 ? '' : hash(`ledger ${n - 1}`), sequence: n },
        closed_at: new Date(Date.UTC(2019, 0, 1) + n * 5000).toISOString().replace('.000Z', 'Z'),
        ...{ total_coins: '105443902087.3472865', fee_pool: '1.0000000' },
        ...{ base_fee_in_stroops: 100, base_reserve_in_stroops: 5_000_000, max_tx_set_size: 100 },
      },
      transactions: [
        {
          ...{ hash: hash(`transaction ${n}`), account: BUSY_ACCOUNT, account_sequence: n, max_fee: 2000, fee_paid: 2000 },
          ...{ envelope_xdr: 'AAAA', result_xdr: 'AAAA', result_meta_xdr: 'AAAA' },
          operations: Array.from({ length: OPERATIONS }, () => operation),
        },
      ],
    }
  }
}
