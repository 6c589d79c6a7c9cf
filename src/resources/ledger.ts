/** Ledgers: the record, its input, its text. Token: `(sequence, 0, 0)`. */

import * as Type from 'typebox'
import { MAX_LEDGER } from '../position.ts'
import { resource } from '../query.ts'
import { Form } from '../text/form.ts'
import { write } from '../text/writer.ts'
import { compose, type Encoded, type Spot, tokenOf } from './encode.ts'
import { amount, integer, object, optional, text, timestamp } from './schema.ts'

/** A closed ledger. Amounts are decimal strings, fees and reserves in stroops. */
export interface Ledger {
  readonly id: string
  readonly paging_token: string
  readonly hash: string
  readonly prev_hash: string
  readonly sequence: number
  readonly transaction_count: number
  readonly successful_transaction_count: number
  readonly failed_transaction_count: number
  readonly operation_count: number
  readonly closed_at: string
  readonly total_coins: string
  readonly fee_pool: string
  readonly base_fee_in_stroops: number
  readonly base_reserve_in_stroops: number
  readonly max_tx_set_size: number
  readonly [open: string]: unknown
}

/** The `ledger` member of a ledger close. Counts are derived if absent; `prev_hash` may be absent on the first ledger. */
export interface LedgerInput {
  readonly sequence: number
  readonly hash: string
  readonly prev_hash?: string | undefined
  readonly closed_at: string
  readonly total_coins: string
  readonly fee_pool: string
  readonly base_fee_in_stroops: number
  readonly base_reserve_in_stroops: number
  readonly max_tx_set_size: number
  readonly transaction_count?: number | undefined
  readonly successful_transaction_count?: number | undefined
  readonly failed_transaction_count?: number | undefined
  readonly operation_count?: number | undefined
  readonly [open: string]: unknown
}

const ledgerHash = Type.String({ pattern: '^[0-9a-fA-F]{1,128}$', expected: 'hexadecimal digits' })

export const ledgerSchema = object({
  sequence: Type.Integer({ minimum: 1, maximum: MAX_LEDGER, expected: `a ledger sequence from 1 to ${MAX_LEDGER}` }),
  hash: ledgerHash,
  prev_hash: optional(Type.String({ pattern: '^[0-9a-fA-F]{0,128}$', expected: 'hexadecimal digits' })),
  closed_at: timestamp,
  total_coins: amount,
  fee_pool: amount,
  base_fee_in_stroops: integer,
  base_reserve_in_stroops: integer,
  max_tx_set_size: integer,
  transaction_count: optional(integer),
  successful_transaction_count: optional(integer),
  failed_transaction_count: optional(integer),
  operation_count: optional(integer),
  id: optional(text),
  paging_token: optional(text),
})

export const ledgers = resource({
  name: 'ledger',
  kept: 'log',
  tag: 1,
  shift: 3,
  indexed: false,
  /** Where every log ends after the ledger; the highest offer id; up to where posting lists were complete. */
  columns: { ends: 0, top_offer: 1, filed: 2 },
  decode: (members) => members as Ledger,
})

export interface Counts {
  readonly transaction_count: number
  readonly successful_transaction_count: number
  readonly failed_transaction_count: number
  readonly operation_count: number
}

const form = new Form(['id', 'paging_token'], ['hash', 'prev_hash', 'sequence', 'closed_at'])

/** The text of a ledger; its side columns are known only when it is stored. */
export function encodeLedger(input: LedgerInput, derived: Counts, spot: Spot): Encoded {
  const hash = input.hash.toLowerCase()
  const before = (input.prev_hash ?? '').toLowerCase()
  const sequence = String(input.sequence)
  const token = tokenOf(spot)
  const missing: Record<string, number> = {}
  for (const name of Object.keys(derived) as (keyof Counts)[]) if (input[name] === undefined) missing[name] = derived[name]
  const out = write()
    .string('id', hash)
    .string('paging_token', token)
    .string('hash', hash)
    .string('prev_hash', before)
    .number('sequence', sequence)
    .string('closed_at', spot.closedAt)
  return compose(out, form, input, { id: hash, paging_token: token }, spot, [], missing)
}
