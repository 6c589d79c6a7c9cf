/** Operations: the record, its input, its text, its indexes. Token and id: `(ledger, transaction, operation)`. */
import type { TSchema } from 'typebox'
import { invalidInput } from '../errors.ts'
import { type Index, type KeyIndex, type OpenRecord, resource } from '../query.ts'
import { Form } from '../text/form.ts'
import { write } from '../text/writer.ts'
import type { EffectInput } from './effect.ts'
import { AccountKeys, checkOwn, compose, distinct, type Encoded, exactInteger, extraText, readExtra, type Spot, tokenOf } from './encode.ts'
import { array, type Int64Input, int64, int64Text, integer, number, object, optional, text, validator } from './schema.ts'
import type { TradeInput } from './trade.ts'

/** An operation of any type; the members of its type stand beside these. {@link isPaymentOperation} and the guards of each type give them their types. */
export interface Operation {
  readonly id: bigint
  readonly paging_token: string
  readonly type: string
  readonly type_i: number
  readonly [member: string]: unknown
}

/** A payment: `amount` in stroops, exact; `amount_f` in whole units, rounded as numbers are. */
export interface Payment extends Operation {
  readonly type: 'payment'
  readonly sender: string
  readonly receiver: string
  readonly asset: { readonly code: string; readonly [open: string]: unknown }
  readonly amount: bigint
  readonly amount_f: number
}

/** The creation of an account by a funder. */
export interface CreateAccount extends Operation {
  readonly type: 'create_account'
  readonly account: string
  readonly funder: string
  readonly starting_balance: number
}

/** What a path payment or a merge may say as a payment does. Which of these it has is up to whoever supplies the ledgers. */
type AsPaid = Partial<Pick<Payment, 'sender' | 'receiver' | 'asset' | 'amount' | 'amount_f'>>

/** A payment that is exchanged on its way. */
export interface PathPayment extends Operation, AsPaid {
  readonly type: 'path_payment'
}

/** The merge of an account into another one, which receives what it held. */
export interface AccountMerge extends Operation, AsPaid {
  readonly type: 'account_merge'
}

/** What listings of payments hold. Its `type` tells which it is, and so which members it has. */
export type PaymentOperation = CreateAccount | Payment | PathPayment | AccountMerge

/** True for a payment, whose members then have their types. Listings of payments hold operations of the other {@link paymentTypes} too. */
export const isPayment = (operation: Operation): operation is Payment => operation.type === 'payment'

/** True for the creation of an account, whose members then have their types. */
export const isCreateAccount = (operation: Operation): operation is CreateAccount => operation.type === 'create_account'

/** True for a path payment, whose members then have their types. */
export const isPathPayment = (operation: Operation): operation is PathPayment => operation.type === 'path_payment'

/** True for the merge of an account, whose members then have their types. */
export const isAccountMerge = (operation: Operation): operation is AccountMerge => operation.type === 'account_merge'

/** True for what listings of payments hold, of whichever of the {@link paymentTypes}: so for each record of theirs. */
export const isPaymentOperation = (operation: Operation): operation is PaymentOperation => paymentTypes.has(operation.type)

/** An operation of a ledger close. `type_i` may be absent for the types of {@link operationTypes}. */
export interface OperationInput {
  readonly type: string
  readonly type_i?: number | undefined
  readonly source_account?: string | undefined
  readonly participants?: readonly string[] | undefined
  readonly effects?: readonly EffectInput[] | undefined
  readonly trades?: readonly TradeInput[] | undefined
  readonly [member: string]: unknown
}

/** Type codes of the operations that need not state theirs. */
export const operationTypes: Readonly<Record<string, number>> = {
  create_account: 0,
  payment: 1,
  path_payment: 2,
  manage_offer: 3,
  create_passive_offer: 4,
  set_options: 5,
  change_trust: 6,
  allow_trust: 7,
  account_merge: 8,
  inflation: 9,
  manage_data: 10,
  bump_sequence: 11,
}

/** The types that payment listings show. */
export const paymentTypes: ReadonlySet<string> = new Set(['create_account', 'payment', 'path_payment', 'account_merge'])

/** Those of them whose `amount` is an integer. A create_account has none of its own: there it is a member like any other, kept as it is. */
const amountTypes: ReadonlySet<string> = new Set(['payment', 'path_payment', 'account_merge'])

/** Members of payments that are numbers even if that rounds them: the text written has their digits. */
const numbers = ['amount_f', 'starting_balance'] as const

/** Members that name an account affected by the operation. */
const accountMembers = ['account', 'funder', 'sender', 'receiver', 'from', 'to', 'into', 'trustor'] as const

export const operationSchema = (effect: TSchema, trade: TSchema): TSchema =>
  object({
    type: text,
    type_i: optional(integer),
    source_account: optional(text),
    participants: optional(array(text)),
    effects: optional(array(effect)),
    trades: optional(array(trade)),
  })

const assetCode = object({ code: text })
const withAmount = {
  sender: optional(text),
  receiver: optional(text),
  asset: optional(assetCode),
  amount: optional(int64),
  amount_f: optional(number),
}

/** What the members of a known type must be, beyond those that every operation has. */
const memberChecks = new Map(
  Object.entries<TSchema>({
    create_account: object({ account: text, funder: text, starting_balance: number }),
    payment: object({ sender: text, receiver: text, asset: assetCode, amount: int64, amount_f: number }),
    path_payment: object(withAmount),
    account_merge: object(withAmount),
  }).map(([type, schema]) => [type, validator(schema)]),
)

export const operations = resource({
  name: 'operation',
  kept: 'log',
  tag: 3,
  shift: 4,
  indexed: false,
  columns: { transaction: 0, created_at: 1, source: 2, participants: 3, type_i: 4 },
  decode(members: any, source): Operation {
    // The parsed number may be rounded.
    if (typeof members.id !== 'bigint') members.id = source.id
    if (!paymentTypes.has(members.type)) return members
    if (members.amount !== undefined && amountTypes.has(members.type)) members.amount = exactInteger(members.amount, source, 'amount')
    for (const name of numbers) if (typeof members[name] === 'bigint') members[name] = Number(members[name])
    return members
  },
})

const accountPlace = new Map(accountMembers.map((name, at) => [name as string, at]))

/** The accounts that an operation's members name, in the order of {@link accountMembers}: found by walking its members, as most are not there. */
function accountsNamed(record: OpenRecord): unknown[] {
  const found: unknown[] = []
  for (const name in record) {
    const at = accountPlace.get(name)
    if (at !== undefined) found[at] = record[name]
  }
  return found
}

const { source, participants } = operations.columns
const accounts = new AccountKeys()
const affects = (record: OpenRecord, sides: readonly string[]) =>
  accounts.of(sides, () => distinct([sides[source], ...accountsNamed(record), ...readExtra(sides[participants])]))

export const operationsByAccount: KeyIndex<Operation, 'account'> = {
  name: 'account',
  of: operations,
  tag: 3,
  column: 'account',
  keys: affects,
}
export const payments: Index<Operation> = {
  name: 'payment',
  of: operations,
  tag: 4,
  keys: (record) => (paymentTypes.has(record['type']) ? [[]] : []),
}
export const paymentsByAccount: KeyIndex<Operation, 'account'> = {
  name: 'payment account',
  of: operations,
  tag: 5,
  column: 'account',
  partial: true,
  keys: (record, sides) => (paymentTypes.has(record['type']) ? affects(record, sides) : []),
}

const derived = ['id', 'paging_token']
const omitted = ['type_i', 'participants', 'effects', 'trades']
const form = new Form(derived, omitted)
const paymentForm = new Form(derived, [...omitted, 'amount'])

/** What an operation takes from its transaction. */
export interface Owner {
  readonly hash: string
  readonly account: string
}

/** @param affected as {@link operationAffects} */
export function encodeOperation(
  input: OperationInput,
  owner: Owner,
  spot: Spot,
  affected: readonly string[] = operationAffects(input, owner.account),
): Encoded {
  const known = Object.hasOwn(operationTypes, input.type) ? operationTypes[input.type] : undefined
  const code = input.type_i ?? known
  if (code === undefined)
    throw invalidInput(spot.ledger, spot.path('type_i'), `a type code, since "${input.type}" is not a known operation type; it is missing`)
  if (known !== undefined && code !== known) throw invalidInput(spot.ledger, spot.path('type_i'), `${known}, the code of ${input.type}`)
  const token = tokenOf(spot)
  checkOwn(input, spot)
  memberChecks.get(input.type)?.(
    input,
    () => spot.ledger,
    () => spot.path(),
  )

  const source = input.source_account ?? owner.account
  const hasAmount = amountTypes.has(input.type)
  const given = input['amount']
  const amount = hasAmount && given !== undefined ? int64Text(given as Int64Input, spot.ledger, () => spot.path('amount')) : undefined
  const further = input.participants?.length ? extraText(distinct(input.participants), distinct([source, ...accountsNamed(input)])) : ''
  const sides = [owner.hash, spot.closedAt, source, further, String(code)]
  accounts.keep(sides, affected)
  const out = write().number('id', token).string('paging_token', token)
  // Written before any open member, so that decoding finds its digits.
  if (amount !== undefined) out.number('amount', amount)
  out.number('type_i', String(code))
  return compose(out, hasAmount ? paymentForm : form, input, { id: token, paging_token: token }, spot, sides)
}

/** The accounts that an input operation affects, for the transaction that holds it. */
export const operationAffects = (input: OperationInput, transactionAccount: string): string[] =>
  distinct([input.source_account ?? transactionAccount, ...accountsNamed(input), ...(input.participants ?? [])])
