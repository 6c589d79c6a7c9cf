/**
 * What a path may name: how its record is found, whether it exists, and which records of a log belong to it.
 * **Invariant:** every path parameter has a row, and those that name a place of history say where its records lie; a list within any other parameter
 * needs an index by it, which the types of the catalogue require.
 */
import type { Block, Place } from '../layout/block.ts'
import { looseBlock } from '../layout/encode-block.ts'
import { indexes } from '../logs.ts'
import type { KeyName, ParamTypes, PlaceName } from '../params.ts'
import { MAX_ID, TRANSACTION_STEP } from '../position.ts'
import type { Resource } from '../query.ts'
import { accounts } from '../resources/account.ts'
import { takeApart } from '../text/writer.ts'
import { filedBelow, Posting, type Span } from './list.ts'
import { ListKey } from './list-key.ts'
import { findLedger, findOperation, findTransaction, spanOfIds, spanOfLedger } from './locate.ts'
import type { Reader } from './reader.ts'

/** A parameter that is a key of indexes: its records lie all over their logs. */
interface Key<V> {
  /** The record it names. */
  find(reader: Reader, value: V): Place | undefined
  /** True if any record that is held names it, or the book does. */
  exists(reader: Reader, value: V): boolean
}

/** A parameter that names a place of history, which exists if it has a record. */
interface Within<V> {
  /** The record it names. @throws GONE_BEFORE_HISTORY */
  find(reader: Reader, value: V): Place | undefined
  /** The records of a log that belong to the record found. */
  span(reader: Reader, resource: Resource, place: Place): Span
}

const parents: { readonly [N in keyof ParamTypes]: N extends PlaceName ? Within<ParamTypes[N]> : Key<ParamTypes[N]> } = {
  account: {
    find: (reader, id) => (isAccount(reader, id) ? { block: accountBlock(id), at: 0 } : undefined),
    exists: isAccount,
  },
  offer: {
    find(reader, id) {
      const block = reader.offer(id)
      return block && { block, at: 0 }
    },
    exists: (reader, id) => isNamed(reader, 'offer', id) || mayBeNamed(reader, 'offer', id),
  },
  ledger: {
    find: findLedger,
    span: (reader, resource, { block, at }) => spanOfLedger(reader, resource, block.hi(at)),
  },
  hash: {
    find: findTransaction,
    span: (reader, resource, place) => spanOfStep(reader, resource, place, TRANSACTION_STEP),
  },
  operation: {
    find: findOperation,
    span: (reader, resource, place) => spanOfStep(reader, resource, place, 1),
  },
}

export const parentOf = (name: keyof ParamTypes): Key<any> | Within<any> => parents[name]

const spanOfStep = (reader: Reader, resource: Resource, { block, at }: Place, step: number): Span =>
  spanOfIds(reader, resource, block.hi(at), block.lo(at), block.lo(at) + step)

/**
 * True if any index by this parameter lists the value. In the order of {@link indexes}: nearly every account is found in the first of them. What a
 * partial index lists, another one by the same parameter does too. The changes of an offer that lives are listed even if all of them were pruned.
 */
const isNamed = (reader: Reader, name: KeyName, value: string | bigint): boolean =>
  listsOf(name, value).some((list) => isFiled(reader, list) || reader.unfiled.names(list))

/** False. @throws CORRUPT if a record that could not be read may name the value: to be asked once nothing else does */
function mayBeNamed(reader: Reader, name: KeyName, value: string | bigint): false {
  for (const list of listsOf(name, value)) reader.unfiled.checkWhole(list)
  return false
}

const listsOf = (name: KeyName, value: string | bigint): ListKey[] =>
  indexes.filter(({ column, partial }) => column === name && !partial).map((index) => new ListKey(index, [value]))

function isFiled(reader: Reader, list: ListKey): boolean {
  const { tag } = list.index.of
  const [from, to] = [reader.head.since[tag]!, reader.head.filedCounts[tag]!]
  return (from > 0 && filedBelow(reader, list, from) > 0) || new Posting(reader, list).take({ from, to }, 1, false).ordinals.length > 0
}

/** An account of which all records were pruned is still known by its offers. */
function isAccount(reader: Reader, id: string): boolean {
  if (isNamed(reader, 'account', id)) return true
  if (reader.head.oldest > reader.head.first && reader.book(id, 0n, MAX_ID + 1n, 1, false).length > 0) return true
  return mayBeNamed(reader, 'account', id)
}

/** An account has no stored record: its id is all there is. */
function accountBlock(id: string): Block {
  return looseBlock(accounts, [{ hi: 0, lo: 0, index: 0, texts: [takeApart(`"id":${JSON.stringify(id)}`)], sides: [id], exact: false }])
}
