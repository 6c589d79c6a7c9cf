/** Transactions: the record, its input, its text, its indexes. Token: `(ledger, transaction, 0)`. Failed ones live in a log of their own. */

import type { TSchema } from 'typebox'
import { type KeyIndex, resource, type StoredSource } from '../query.ts'
import { Form } from '../text/form.ts'
import { write } from '../text/writer.ts'
import { AccountKeys, compose, distinct, type Encoded, exactInteger, extraText, readExtra, type Spot, tokenOf } from './encode.ts'
import type { OperationInput } from './operation.ts'
import { array, base64, flag, hash, type Int64Input, int64, int64Text, integer, object, optional, text } from './schema.ts'

/** A transaction. Fees in stroops. */
export interface Transaction {
  readonly id: string
  readonly paging_token: string
  readonly hash: string
  readonly ledger: number
  readonly created_at: string
  readonly account: string
  readonly account_sequence: bigint
  readonly max_fee: number
  readonly fee_paid: number
  readonly operation_count: number
  readonly envelope_xdr: string
  readonly result_xdr: string
  readonly result_meta_xdr: string
  readonly [open: string]: unknown
}

/** A transaction of a ledger close. `participants` are further accounts that it affects; they are filed, but not shown. */
export interface TransactionInput {
  readonly hash: string
  readonly successful?: boolean | undefined
  readonly account: string
  readonly account_sequence: Int64Input
  readonly max_fee: number
  readonly fee_paid: number
  readonly envelope_xdr: string
  readonly result_xdr: string
  readonly result_meta_xdr: string
  readonly operation_count?: number | undefined
  readonly participants?: readonly string[] | undefined
  readonly operations?: readonly OperationInput[] | undefined
  readonly [open: string]: unknown
}

export const transactionSchema = (operation: TSchema): TSchema =>
  object({
    hash,
    successful: optional(flag),
    account: text,
    account_sequence: int64,
    max_fee: integer,
    fee_paid: integer,
    operation_count: optional(integer),
    envelope_xdr: base64,
    result_xdr: base64,
    result_meta_xdr: base64,
    participants: optional(array(text)),
    operations: optional(array(operation)),
  })

const decode = (members: any, source: StoredSource): Transaction => {
  members.account_sequence = exactInteger(members.account_sequence, source, 'account_sequence')
  return members
}

const columns = { account: 0, participants: 1, hash: 2 }

export const transactions = resource({
  name: 'transaction',
  kept: 'log',
  tag: 2,
  shift: 2,
  indexed: false,
  columns,
  hashColumn: columns.hash,
  decode,
})

/** Failed transactions are found by hash and counted, but appear in no listing. */
export const failedTransactions = resource({ ...transactions, name: 'failed transaction', tag: 6 })

/** The accounts a transaction affects: its source and those kept in its side columns. */
const accounts = new AccountKeys()
const affects = (_record: unknown, sides: readonly string[]) =>
  accounts.of(sides, () => [sides[columns.account]!, ...readExtra(sides[columns.participants])])

const byAccount = { name: 'account', column: 'account', bySides: true, keys: affects } as const
export const transactionsByAccount: KeyIndex<Transaction, 'account'> = { ...byAccount, of: transactions, tag: 1 }
export const failedByAccount: KeyIndex<Transaction, 'account'> = { ...byAccount, of: failedTransactions, tag: 2 }

const form = new Form(
  ['id', 'paging_token', 'ledger', 'created_at'],
  ['hash', 'account', 'account_sequence', 'operation_count', 'participants', 'operations', 'successful'],
)

/** @param affected accounts named by its operations, in order */
export function encodeTransaction(input: TransactionInput, affected: Iterable<string>, spot: Spot): Encoded {
  const { account, participants, operations, successful } = input
  const token = tokenOf(spot)
  const hash = input.hash.toLowerCase()
  const sequence = int64Text(input.account_sequence, spot.ledger, () => spot.path('account_sequence'))
  const all = distinct([account, ...(participants ?? []), ...affected])
  const count = String(input.operation_count ?? operations?.length ?? 0)
  const out = write()
    .string('id', hash)
    .string('paging_token', token)
    .string('hash', hash)
    .number('ledger', String(spot.ledger))
    .string('created_at', spot.closedAt)
    .string('account', account)
    .number('account_sequence', sequence)
    .number('operation_count', count)
  const derived = { id: hash, paging_token: token, ledger: String(spot.ledger), created_at: spot.closedAt }
  // `successful` is an open member: shown if given, and always if false, since a failed transaction must say so.
  const added = successful === undefined ? undefined : { successful }
  const sides = [account, extraText(all, [account]), hash]
  accounts.keep(sides, all)
  return compose(out, form, input, derived, spot, sides, added)
}
