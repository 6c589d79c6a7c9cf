/**
 * The building blocks of the input schemas: what a member must be, in JSON Schema, with the phrase that an error quotes.
 * TypeBox compiles a schema to a check function; that of a whole close is exported as documentation.
 */
import * as Type from 'typebox'
import { Compile } from 'typebox/schema'
import { invalidInput } from '../errors.ts'
import { Digits } from '../json.ts'
import { MAX_ID } from '../position.ts'

/** A 64-bit integer on input: a JSON integer, a bigint, or decimal digits in a string. */
export type Int64Input = number | bigint | string

export const text = Type.String({ minLength: 1, expected: 'a non-empty string' })
export const integer = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, expected: 'a whole number from 0 to 2^53-1' })
export const flag = Type.Boolean({ expected: 'true or false' })
export const amount = Type.String({ pattern: '^-?[0-9]+(\\.[0-9]+)?$', expected: 'a decimal number in a string, such as "12.5000000"' })
export const hash = Type.String({ pattern: '^[0-9a-fA-F]{64}$', expected: '64 hexadecimal digits' })
/** `\w` without the underscore: with the ranges spelled out, engines take five times as long, which is felt for a kilobyte of each transaction. */
export const base64 = Type.String({ pattern: '^(?=[^_]*$)[\\w+/]*={0,2}$', expected: 'base64 text' })
export const timestamp = Type.String({
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?(Z|[+-]\\d\\d:\\d\\d)$',
  expected: 'an ISO 8601 time such as "2019-06-01T12:00:00Z"',
})
export const int64 = Type.Union(
  [
    Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    Type.BigInt({ minimum: 0n, maximum: MAX_ID }),
    Type.String({ pattern: '^(0|[1-9][0-9]{0,18})$' }),
  ],
  { expected: 'an integer from 0 to 2^63-1: a JSON integer, a bigint, or its decimal digits in a string' },
)
/** A JSON number whose digits are kept as given. */
export const number = Type.Union([Type.Number(), Type.BigInt(), Type.Refine(Type.Object({}), (value) => value instanceof Digits)], {
  expected: 'a number',
})

export const assetType = Type.Union([Type.Literal('native'), Type.Literal('credit_alphanum4'), Type.Literal('credit_alphanum12')], {
  expected: 'native, credit_alphanum4 or credit_alphanum12',
})
const priceWhole = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const absent = Type.Optional(Type.Never())
export const price = Type.Union(
  [Type.Object({ n: priceWhole, d: priceWhole }), Type.Object({ N: priceWhole, D: priceWhole, n: absent, d: absent })],
  { expected: 'a ratio { n, d } of whole numbers from 0 to 2^53-1' },
)
export const optional = Type.Optional
export const object = (members: Record<string, Type.TSchema>): Type.TSchema => Type.Object(members, { expected: 'an object' })
/** An object without further members: one that is not known is most likely misspelt, and would be lost. One that is undefined counts as absent. */
export const closedObject = (members: Record<string, Type.TSchema>): Type.TSchema => {
  const known = Object.keys(members).join(', ')
  const additionalProperties = Type.Undefined({ expected: `nothing: what stands beside it can be ${known}` })
  return Type.Object(members, { expected: 'an object', additionalProperties })
}
/** Holes are looked for separately, since the check of the members skips them; the message of that rule is the place of the first one. */
export const array = (of: Type.TSchema): Type.TSchema =>
  Type.Refine(
    Type.Array(of, { expected: 'an array' }),
    (value: unknown) => !Array.isArray(value) || !value.includes(undefined),
    (value: unknown) => String([...(value as unknown[])].indexOf(undefined)),
  )

/** Turns the JSON pointer `/transactions/3/operations/0` into `transactions[3].operations[0]`. */
const memberPath = (pointer: string): string => {
  let path = ''
  for (const step of pointer.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    path += /^\d+$/.test(name) ? `[${name}]` : path ? `.${name}` : name
  }
  return path
}

interface SchemaError {
  readonly keyword: string
  readonly instancePath: string
  readonly schemaPath: string
  readonly message: string
  readonly params: { readonly requiredProperties?: readonly string[] }
}

/** The missing member, relative to what the error names, and where its rule is, relative to the rule that failed. */
function missingFrom({ keyword, message, params }: SchemaError): { member: string; rule: string } | undefined {
  if (keyword === '~refine') return { member: message, rule: 'items' }
  const member = params.requiredProperties?.[0]
  return member === undefined ? undefined : { member, rule: `properties/${member}` }
}

/** The `expected` phrase nearest above the rule that failed. */
function expectation(schema: any, schemaPath: string): string | undefined {
  let found: string | undefined
  let node = schema
  for (const step of schemaPath.split('/').slice(1)) {
    if (typeof node?.expected === 'string') found = node.expected
    node = node?.[step]
  }
  return typeof node?.expected === 'string' ? node.expected : found
}

/** Compiles a schema to a function that returns for a good value, and for any other throws INVALID_INPUT, naming the first wrong member. */
export function validator(schema: Type.TSchema): (value: unknown, ledger?: () => number | undefined, base?: () => string) => void {
  const compiled = Compile(schema)
  return (value, ledger, base) => {
    if (compiled.Check(value)) return
    const prefix = base?.() ?? ''
    const error = (compiled.Errors(value)[1] as SchemaError[])[0]!
    const missing = missingFrom(error)
    const at = memberPath(missing ? `${error.instancePath}/${missing.member}` : error.instancePath)
    const path = prefix && at && !at.startsWith('[') ? `${prefix}.${at}` : prefix + at
    const sentence = expectation(schema, missing ? `${error.schemaPath}/${missing.rule}` : error.schemaPath) ?? error.message
    throw invalidInput(ledger?.(), path || '(the whole close)', missing ? `${sentence}; it is missing` : sentence)
  }
}

/** The digits of a validated 64-bit integer. @throws INVALID_INPUT if it is past 2^63 - 1 */
export function int64Text(value: Int64Input, ledger: number, path: () => string): string {
  // The schema compares bigints as rounded numbers, and cannot compare digits at all.
  if (typeof value === 'bigint' ? value > MAX_ID : typeof value === 'string' && value.length === 19 && BigInt(value) > MAX_ID)
    throw invalidInput(ledger, path(), 'an integer from 0 to 2^63-1')
  return String(value)
}
