/**
 * The links of every kind of record, as text with holes, and how the holes are filled from a stored block without parsing the record.
 *
 * Beyond the letter of the service document, so that every href resolves:
 * - a trade's `self` is the page of its operation's trades that holds exactly this trade; `base` and `counter` are omitted if that side
 *   has no account;
 * - every operation has the links of an operation; the payment types also have `transaction`, and those that move money between a sender
 *   and a receiver have `precedes` and `succeeds` templated with `{?limit}` (the router takes the second `?` of their expansion for an `&`).
 *   Which they are is told by the code, so a path_payment_strict_receive, which is what networks call code 2 today, has those links too.
 */
import {
  type Block,
  catalogue,
  fromUtf8,
  operationTypes,
  type RecordName,
  Region,
  utf8,
  writeId,
  writeIndexed,
  writeNumber,
} from '../../src/index.ts'
import type { Profile } from './extended.ts'
import { type Slot, slots, Template, type Values } from './template.ts'

const LIST = '{?cursor,limit,order}'

/** One link. A path that ends in a template is marked as templated. */
const link = (name: string, path: string): string => `"${name}":{"href":"<base>${path}"${path.includes('{') ? ',"templated":true' : ''}}`

/** The links object of a record, which opens its text. */
const links = (...list: readonly string[]): string => `{"_links":{${list.join()}},`

/** `precedes` and `succeeds`: the listing on either side of the record. */
const around = (path: string, template = ''): string[] => [
  link('precedes', `${path}?cursor=<token>&order=asc${template}`),
  link('succeeds', `${path}?cursor=<token>&order=desc${template}`),
]

const inTransaction = link('transaction', '/transactions/<hash>')
const ofOperation = (...more: readonly string[]): string =>
  links(
    link('self', '/operations/<token>'),
    ...more.filter((one) => one === inTransaction),
    link('effects', `/operations/<token>/effects${LIST}`),
    ...(more.includes('{?limit}') ? around('/operations', '{?limit}') : around('/operations')),
    link('transactions', '/transactions/<hash>'),
  )

const ofTrade = (...sides: readonly string[]): string =>
  links(
    link('self', '/operations/<operation>/trades?cursor=<before>&limit=1&order=asc'),
    ...sides,
    link('operation', '/operations/<operation>'),
  )
const base = link('base', '/accounts/<account>')
const counter = link('counter', '/accounts/<other>')

const ofLedger = (...more: readonly string[]): string =>
  links(
    link('self', '/ledgers/<ledger>'),
    link('effects', `/ledgers/<ledger>/effects${LIST}`),
    link('operations', `/ledgers/<ledger>/operations${LIST}`),
    link('transactions', `/ledgers/<ledger>/transactions${LIST}`),
    ...more,
  )

/** The opening text by variant. */
const sources = {
  transaction: links(
    link('account', '/accounts/<account>'),
    link('ledger', '/ledgers/<ledger>'),
    link('self', '/transactions/<hash>'),
    ...around('/transactions'),
    link('effects', `/transactions/<hash>/effects${LIST}`),
    link('operations', `/transactions/<hash>/operations${LIST}`),
  ),
  operation: ofOperation(),
  linkedOperation: ofOperation(inTransaction),
  payment: ofOperation(inTransaction, '{?limit}'),
  effect: links(link('operation', '/operations/<operation>'), ...around('/effects')),
  trade: ofTrade(base, counter),
  baseTrade: ofTrade(base),
  counterTrade: ofTrade(counter),
  offer: links(link('self', '/offers/<token>'), link('offer_maker', '/accounts/<account>')),
  ledger: ofLedger(),
  account: links(
    link('self', '/accounts/<account>'),
    ...['transactions', 'operations', 'payments', 'effects', 'trades', 'offers'].map((name) =>
      link(name, `/accounts/<account>/${name}${LIST}`),
    ),
  ),
}

/** The variants that the extended profile opens differently. */
const extended: Partial<typeof sources> = {
  operation: sources.linkedOperation,
  ledger: ofLedger(link('payments', `/ledgers/<ledger>/payments${LIST}`)),
}

export type Templates = { readonly [Variant in keyof typeof sources]: Template }

/** @param baseUrl absolute, without a trailing slash; its characters need no JSON escape */
export function templatesFor(baseUrl: string, profile: Profile): Templates {
  const chosen = profile === 'extended' ? { ...sources, ...extended } : sources
  const entries = Object.entries(chosen).map(([name, source]) => [name, new Template(source.replaceAll('<base>', () => baseUrl))])
  return Object.fromEntries(entries) as Templates
}

const slot = (name: Slot): number => slots.indexOf(name)
const [HASH, TOKEN, LEDGER, ACCOUNT, OTHER, OPERATION, BEFORE] = (
  ['hash', 'token', 'ledger', 'account', 'other', 'operation', 'before'] as const
).map(slot) as [number, number, number, number, number, number, number]

/** 1 for bytes that need no escape in a path segment: letters, digits, `-._~`. */
const plain = Uint8Array.from({ length: 256 }, (_, byte) => (/[A-Za-z0-9\-._~]/.test(String.fromCharCode(byte)) ? 1 : 0))

/** Fills a hole in a path with an account id, from a side column. Percent-encoding leaves nothing that JSON would escape. */
function setAccount(values: Values, to: number, block: Block, at: number, column: number): void {
  const { bytes } = block.region
  const start = block.sideStart(at, column)
  const length = block.sideLength(at, column)
  let clean = 1
  for (let i = start; i < start + length; i++) clean &= plain[bytes[i]!]!
  if (clean) values.set(to, block.region, start, length)
  else {
    const encoded = utf8(encodeURIComponent(fromUtf8(bytes, start, start + length)))
    values.set(to, Region.padded(encoded), 0, encoded.length)
  }
}

function setHash(values: Values, block: Block, at: number, column: number): void {
  values.set(HASH, block.region, block.sideStart(at, column), block.sideLength(at, column))
}

function setId(values: Values, to: number, hi: number, lo: number): void {
  const digits = values.digits[to]!
  values.set(to, digits, 0, writeId(digits.bytes, 0, hi, lo))
}

function setLedger(values: Values, block: Block, at: number): void {
  const digits = values.digits[LEDGER]!
  values.set(LEDGER, digits, 0, writeNumber(digits.bytes, 0, block.hi(at)))
}

function setIndexed(values: Values, to: number, hi: number, lo: number, index: number): void {
  const digits = values.digits[to]!
  values.set(to, digits, 0, writeIndexed(digits.bytes, 0, hi, lo, index))
}

/** Fills the holes for the record and picks the variant of its opening text. */
export type Fill = (templates: Templates, values: Values, block: Block, at: number) => Template

// Columns are read once: a number of the module costs nothing for each record.
const { transaction: OWNER_HASH, type_i: TYPE } = catalogue.operations.of.columns
const { base_account: BASE_ACCOUNT, counter_account: COUNTER_ACCOUNT } = catalogue.trades.of.columns
const { account: SOURCE, hash: OWN_HASH } = catalogue.transactions.of.columns
const { seller: SELLER } = catalogue.offer.of.columns
const { id: ACCOUNT_ID } = catalogue.account.of.columns

/** All of one digit. */
const { create_account: CREATE_ACCOUNT, payment: PAYMENT, path_payment: PATH_PAYMENT, account_merge: ACCOUNT_MERGE } = operationTypes

const operation: Fill = (templates, values, block, at) => {
  setId(values, TOKEN, block.hi(at), block.lo(at))
  setHash(values, block, at, OWNER_HASH)
  const type = block.sideLength(at, TYPE) === 1 ? block.region.bytes[block.sideStart(at, TYPE)]! - 48 : -1
  if (type === CREATE_ACCOUNT) return templates.linkedOperation
  return type === PAYMENT || type === PATH_PAYMENT || type === ACCOUNT_MERGE ? templates.payment : templates.operation
}

const trade: Fill = (templates, values, block, at) => {
  const [hi, lo, index] = [block.hi(at), block.lo(at), block.index(at)]
  setId(values, OPERATION, hi, lo)
  // The first trade of an operation follows no cursor at all.
  if (index > 0) setIndexed(values, BEFORE, hi, lo, index - 1)
  else values.set(BEFORE, values.digits[BEFORE]!, 0, 0)
  setAccount(values, ACCOUNT, block, at, BASE_ACCOUNT)
  setAccount(values, OTHER, block, at, COUNTER_ACCOUNT)
  if (values.length[ACCOUNT] === 0) return templates.counterTrade
  return values.length[OTHER] === 0 ? templates.baseTrade : templates.trade
}

const transaction: Fill = (templates, values, block, at) => {
  setAccount(values, ACCOUNT, block, at, SOURCE)
  setLedger(values, block, at)
  setId(values, TOKEN, block.hi(at), block.lo(at))
  setHash(values, block, at, OWN_HASH)
  return templates.transaction
}

const fills: Readonly<Record<RecordName, Fill>> = {
  transaction,
  'failed transaction': transaction,
  operation,
  trade,
  effect(templates, values, block, at) {
    setId(values, OPERATION, block.hi(at), block.lo(at))
    setIndexed(values, TOKEN, block.hi(at), block.lo(at), block.index(at))
    return templates.effect
  },
  offer(templates, values, block, at) {
    setId(values, TOKEN, block.hi(at), block.lo(at))
    setAccount(values, ACCOUNT, block, at, SELLER)
    return templates.offer
  },
  ledger(templates, values, block, at) {
    setLedger(values, block, at)
    return templates.ledger
  },
  account(templates, values, block, at) {
    setAccount(values, ACCOUNT, block, at, ACCOUNT_ID)
    return templates.account
  },
}

/** How the records of a block are given their links. */
export const fillOf = (block: Block): Fill => fills[block.resource.name as RecordName]
