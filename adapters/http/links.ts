/**
 * The links of every kind of record, as text with holes, and how the holes are filled from a stored block without parsing the record.
 *
 * Beyond the letter of the service document, so that every href resolves:
 * - a trade's `self` is the page of its operation's trades that holds exactly this trade; `base` and `counter` are left out where that side
 *   has no account;
 * - every operation has the links of an operation; the payment types have `transaction` besides, and those that move money between a sender
 *   and a receiver have `precedes` and `succeeds` templated with `{?limit}` (the router takes the second `?` of their expansion for an `&`).
 */
import type { Block } from '../../src/index.ts'
import { fromUtf8, utf8, writeId } from './bytes.ts'
import type { Profile } from './extended.ts'
import { type Slot, slots, Template, type Values } from './template.ts'

const LIST = '{?cursor,limit,order}'

/** One link. A path ending in a template is marked as one. */
const link = (name: string, path: string): string => `"${name}":{"href":"<base>${path}"${path.includes('{') ? ',"templated":true' : ''}}`

/** The links object of a record, opening its text. */
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

/** Opening text by variant. */
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

/** What the extended profile opens otherwise. */
const extended: Partial<typeof sources> = {
  operation: sources.linkedOperation,
  ledger: ofLedger(link('payments', `/ledgers/<ledger>/payments${LIST}`)),
}

export type Templates = { readonly [Variant in keyof typeof sources]: Template }

/** @param baseUrl absolute, without a slash at its end; its characters need no JSON escape */
export function templatesFor(baseUrl: string, profile: Profile): Templates {
  const chosen = profile === 'extended' ? { ...sources, ...extended } : sources
  const entries = Object.entries(chosen).map(([name, source]) => [name, new Template(source.replaceAll('<base>', () => baseUrl))])
  return Object.fromEntries(entries) as Templates
}

const slot = (name: Slot): number => slots.indexOf(name)
const [HASH, TOKEN, LEDGER, ACCOUNT, OTHER, OPERATION, BEFORE] = (
  ['hash', 'token', 'ledger', 'account', 'other', 'operation', 'before'] as const
).map(slot) as [number, number, number, number, number, number, number]

/** 1 for bytes that stand for themselves in a path segment: letters, digits, `-._~`. */
const plain = Uint8Array.from({ length: 256 }, (_, byte) => (/[A-Za-z0-9\-._~]/.test(String.fromCharCode(byte)) ? 1 : 0))

/** Fills a hole in a path with an account id. Percent-encoding leaves nothing that JSON would escape. */
function setAccount(values: Values, to: number, id: Uint8Array): void {
  let clean = 1
  for (let i = 0; i < id.length; i++) clean &= plain[id[i]!]!
  const bytes = clean ? id : utf8(encodeURIComponent(fromUtf8(id)))
  values.set(to, bytes, 0, bytes.length)
}

function setId(values: Values, to: number, hi: number, lo: number): void {
  const digits = values.digits[to]!
  values.set(to, digits, 0, writeId(digits, 0, hi, lo))
}

function setIndexed(values: Values, to: number, hi: number, lo: number, index: number): void {
  const digits = values.digits[to]!
  const end = writeId(digits, 0, hi, lo)
  digits[end] = 45
  values.set(to, digits, 0, writeId(digits, end + 1, 0, index))
}

/** Fills the holes for the record and picks the variant of its opening text. */
export type Fill = (templates: Templates, values: Values, block: Block, at: number, text: Uint8Array) => Template

/** The text of a transaction opens with its id, which is its hash: `"id":"<64 hexadecimal digits>",`. */
const HASH_AT = 6
const HASH_LENGTH = 64

const operation: Fill = (templates, values, block, at, text) => {
  setId(values, TOKEN, block.hi(at), block.lo(at))
  const hash = block.sideBytes(at, 0)
  values.set(HASH, hash, 0, hash.length)
  const code = typeCode(text, values.length[TOKEN]!)
  if (code === 0) return templates.linkedOperation
  return code === 1 || code === 2 || code === 8 ? templates.payment : templates.operation
}

/** `"id":<digits>,"paging_token":"<digits>"[,"amount":<digits>],"type_i":<code>`, the derived members that open the text of an operation. */
function typeCode(text: Uint8Array, digits: number): number {
  let at = 5 + digits + 17 + digits + 1
  const A = 97
  if (text[at + 2] === A) {
    at += ',"amount":'.length
    while (isDigit(text[at])) at++
  }
  at += ',"type_i":'.length
  let code = 0
  if (!isDigit(text[at])) return -1
  for (; isDigit(text[at]); at++) code = code * 10 + text[at]! - 48
  return code
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 48 && byte <= 57

const trade: Fill = (templates, values, block, at) => {
  const [hi, lo, index] = [block.hi(at), block.lo(at), block.index(at)]
  setId(values, OPERATION, hi, lo)
  // The first trade of an operation comes after no cursor at all.
  if (index > 0) setIndexed(values, BEFORE, hi, lo, index - 1)
  else values.set(BEFORE, values.digits[BEFORE]!, 0, 0)
  const [baseId, counterId] = [block.sideBytes(at, 0), block.sideBytes(at, 1)]
  setAccount(values, ACCOUNT, baseId)
  setAccount(values, OTHER, counterId)
  if (baseId.length === 0) return templates.counterTrade
  return counterId.length === 0 ? templates.baseTrade : templates.trade
}

const transaction: Fill = (templates, values, block, at, text) => {
  setAccount(values, ACCOUNT, block.sideBytes(at, 0))
  setId(values, LEDGER, 0, block.hi(at))
  setId(values, TOKEN, block.hi(at), block.lo(at))
  values.set(HASH, text, HASH_AT, HASH_LENGTH)
  return templates.transaction
}

/** By name of resource, as blocks carry it. */
export const fills: Readonly<Record<string, Fill>> = {
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
    setAccount(values, ACCOUNT, block.sideBytes(at, 0))
    return templates.offer
  },
  ledger(templates, values, block, at) {
    setId(values, LEDGER, 0, block.hi(at))
    return templates.ledger
  },
  account(templates, values, block, at) {
    setAccount(values, ACCOUNT, block.sideBytes(at, 0))
    return templates.account
  },
}
