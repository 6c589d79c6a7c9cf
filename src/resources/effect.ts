/** Effects: the record, its input, its text, its index. Token: `<operation id>-<index>`, the index counting from 1. */
import { invalidInput } from '../errors.ts'
import { type KeyIndex, resource } from '../query.ts'
import { Form } from '../text/form.ts'
import { write } from '../text/writer.ts'
import { checkOwn, compose, type Encoded, indexedTokenOf, type Spot } from './encode.ts'
import { amount, integer, object, optional, text, validator } from './schema.ts'

/**
 * What an operation did to an account; the members of its type stand beside these. {@link isAccountCreated}, {@link isAccountDebited} and
 * {@link isSignerCreated} give them their types.
 */
export interface Effect {
  readonly account: string
  readonly paging_token: string
  readonly type: string
  readonly type_i: number
  readonly [member: string]: unknown
}

/** An account was created. */
export interface AccountCreated extends Effect {
  readonly type: 'account_created'
  readonly starting_balance: string
}

/** Something was taken from an account. */
export interface AccountDebited extends Effect {
  readonly type: 'account_debited'
  readonly amount: string
  readonly asset_type: string
}

/** An account has a new signer. */
export interface SignerCreated extends Effect {
  readonly type: 'signer_created'
  readonly public_key: string
  readonly weight: number
}

/** True for the creation of an account, whose members then have their types. */
export const isAccountCreated = (effect: Effect): effect is AccountCreated => effect.type === 'account_created'

/** True if something was taken from an account; the members then have their types. */
export const isAccountDebited = (effect: Effect): effect is AccountDebited => effect.type === 'account_debited'

/** True for a new signer of an account, whose members then have their types. */
export const isSignerCreated = (effect: Effect): effect is SignerCreated => effect.type === 'signer_created'

/** An effect of a ledger close. `index` is given if the network skips numbers; it must rise. */
export interface EffectInput {
  readonly account: string
  readonly type: string
  readonly type_i: number
  readonly index?: number | undefined
  readonly [member: string]: unknown
}

export const effectSchema = object({ account: text, type: text, type_i: integer, index: optional(integer) })

/** The type codes of the documented types. */
const effectTypes: Readonly<Record<string, number>> = { account_created: 0, account_debited: 3, signer_created: 10 }

/** What the members of a documented type must be, beyond those that every effect has. */
const checks = Object.entries({
  account_created: object({ starting_balance: amount }),
  account_debited: object({ amount, asset_type: text }),
  signer_created: object({ public_key: text, weight: integer }),
}).map(([type, schema]) => [type, validator(schema)] as const)
const checkOf = new Map(checks)

export const effects = resource({
  name: 'effect',
  kept: 'log',
  tag: 4,
  shift: 5,
  indexed: true,
  columns: { created_at: 0, account: 1 },
  decode: (members) => members as Effect,
})

export const effectsByAccount: KeyIndex<Effect, 'account'> = {
  name: 'account',
  of: effects,
  tag: 6,
  column: 'account',
  bySides: true,
  keys: (_record, sides) => [[sides[effects.columns.account]!]],
}

const form = new Form(['paging_token'], ['account'])

export function encodeEffect(input: EffectInput, spot: Spot): Encoded {
  const { account } = input
  const token = indexedTokenOf(spot)
  const known = Object.hasOwn(effectTypes, input.type) ? effectTypes[input.type] : undefined
  if (known !== undefined && input.type_i !== known)
    throw invalidInput(spot.ledger, spot.path('type_i'), `${known}, the code of ${input.type}`)
  checkOwn(input, spot)
  checkOf.get(input.type)?.(
    input,
    () => spot.ledger,
    () => spot.path(),
  )
  const out = write().string('account', account).string('paging_token', token)
  return compose(out, form, input, { paging_token: token }, spot, [spot.closedAt, account])
}
