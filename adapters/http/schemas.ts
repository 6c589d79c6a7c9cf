/** JSON Schemas of the records on the wire, as in the service document; any record may have further members. */
import type { Catalogue, QueryName } from '../../src/index.ts'

type Schema = object

const string = (description?: string): Schema => ({ type: 'string', ...(description && { description }) })
const integer = (description?: string): Schema => ({ type: 'integer', ...(description && { description }) })
const int64 = (description: string): Schema => ({ type: 'integer', format: 'int64', description: `${description}. May pass 2^53.` })
const time = { type: 'string', format: 'date-time' }
const amount = { type: 'string', pattern: '^-?[0-9]+(\\.[0-9]+)?$', description: 'Decimal number' }
const ratio = { type: 'object', required: ['n', 'd'], properties: { n: integer('Numerator'), d: integer('Denominator') } }
const asset = {
  type: 'object',
  required: ['asset_type'],
  properties: { asset_type: string(), asset_code: string('Not for native'), asset_issuer: string('Not for native') },
}
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })

/** A record: its members, of which those marked with a question mark may be missing, and its links. */
function record(members: Readonly<Record<string, Schema>>, ...links: readonly string[]): Schema {
  const properties: Record<string, Schema> = {
    _links: {
      type: 'object',
      required: links.filter((name) => !name.endsWith('?')),
      properties: Object.fromEntries(links.map((name) => [name.replace('?', ''), ref('Link')])),
    },
  }
  for (const [name, schema] of Object.entries(members)) properties[name.replace('?', '')] = schema
  return { type: 'object', required: ['_links', ...Object.keys(members).filter((name) => !name.endsWith('?'))], properties }
}

const token = string('Paging token: the cursor that continues after this record')
const side = (name: 'base' | 'counter'): Record<string, Schema> => ({
  [`${name}_offer_id?`]: string(),
  [`${name}_account?`]: string('Account ID; missing where the side is no account'),
  [`${name}_amount`]: amount,
  [`${name}_asset_type`]: string(),
  [`${name}_asset_code?`]: string('Not for native'),
  [`${name}_asset_issuer?`]: string('Not for native'),
})

/** By the name of the resource. */
export const recordSchemas: Readonly<Record<Catalogue[QueryName]['of']['name'], Schema>> = {
  account: record({ id: string('Account ID') }, 'self', 'transactions', 'operations', 'payments', 'effects', 'trades', 'offers'),
  transaction: record(
    {
      id: string('Equals hash'),
      paging_token: token,
      hash: string('Hexadecimal'),
      ledger: integer('Sequence number of its ledger'),
      created_at: time,
      account: string('Source account ID'),
      account_sequence: int64('Sequence number of the source account'),
      max_fee: integer(),
      fee_paid: integer(),
      operation_count: integer(),
      envelope_xdr: string('Base64'),
      result_xdr: string('Base64'),
      result_meta_xdr: string('Base64'),
      'successful?': { type: 'boolean', description: 'False for a failed transaction, which is found by its hash only' },
    },
    ...['account', 'ledger', 'self', 'precedes', 'succeeds', 'effects', 'operations'],
  ),
  operation: record(
    { id: int64('Operation ID'), paging_token: token, type: string(), type_i: integer('Code of the type') },
    ...['self', 'transaction?', 'effects', 'precedes', 'succeeds', 'transactions'],
  ),
  effect: record(
    { account: string('Account ID'), paging_token: token, type: string(), type_i: integer('Code of the type') },
    ...['operation', 'precedes', 'succeeds'],
  ),
  trade: record(
    {
      id: string('<operation_id>-<index>'),
      paging_token: token,
      ledger_close_time: time,
      'offer_id?': string(),
      ...side('base'),
      ...side('counter'),
      base_is_seller: { type: 'boolean' },
      price: ratio,
    },
    ...['self', 'base?', 'counter?', 'operation'],
  ),
  offer: record(
    {
      id: int64('Offer ID'),
      paging_token: token,
      seller: string('Account ID'),
      selling: asset,
      buying: asset,
      amount,
      price_r: ratio,
      price: amount,
      last_modified: time,
    },
    ...['self', 'offer_maker'],
  ),
  ledger: record(
    {
      id: string('Equals hash'),
      paging_token: token,
      hash: string('Hexadecimal'),
      prev_hash: string('Hexadecimal'),
      sequence: integer(),
      transaction_count: integer(),
      successful_transaction_count: integer(),
      failed_transaction_count: integer(),
      operation_count: integer(),
      closed_at: time,
      total_coins: amount,
      fee_pool: amount,
      base_fee_in_stroops: integer(),
      base_reserve_in_stroops: integer(),
      max_tx_set_size: integer(),
    },
    ...['self', 'effects', 'operations', 'transactions'],
  ),
}

/** What records and pages are made of, and the body of errors. */
export const sharedSchemas: Readonly<Record<string, Schema>> = {
  Link: { type: 'object', required: ['href'], properties: { href: string(), templated: { type: 'boolean' } } },
  PageLinks: {
    type: 'object',
    required: ['self', 'next', 'prev'],
    properties: { self: ref('Link'), next: ref('Link'), prev: ref('Link') },
  },
  Problem: {
    type: 'object',
    description: 'Problem details (RFC 9457)',
    required: ['type', 'title', 'status', 'detail', 'extras'],
    properties: {
      type: { type: 'string', format: 'uri-reference' },
      title: string(),
      status: integer(),
      detail: string(),
      extras: { type: 'object', properties: { invalid_field: string(), reason: string() } },
    },
  },
}

export const pageSchema = (item: string): Schema => ({
  type: 'object',
  required: ['_links', '_embedded'],
  properties: {
    _links: ref('PageLinks'),
    _embedded: { type: 'object', required: ['records'], properties: { records: { type: 'array', items: ref(item) } } },
  },
})
