/** Every log and every index of a store, and the keys under which a record is filed. */
import type { Index, OpenRecord, Resource } from './query.ts'
import { effects, effectsByAccount } from './resources/effect.ts'
import { ledgers } from './resources/ledger.ts'
import { changesByOffer, changesBySeller, offerChanges } from './resources/offer.ts'
import { operations, operationsByAccount, payments, paymentsByAccount } from './resources/operation.ts'
import { trades, tradesByAccount, tradesByOffer, tradesByPair } from './resources/trade.ts'
import { failedByAccount, failedTransactions, transactions, transactionsByAccount } from './resources/transaction.ts'
import type { Element } from './tuple.ts'

export const logs: readonly Resource[] = [ledgers, transactions, operations, effects, trades, failedTransactions, offerChanges]

export const indexes: readonly Index[] = [
  transactionsByAccount,
  failedByAccount,
  operationsByAccount,
  payments,
  paymentsByAccount,
  effectsByAccount,
  tradesByAccount,
  tradesByOffer,
  tradesByPair,
  changesByOffer,
  changesBySeller,
]

const indexesOf = new Map<Resource, Index[]>()
for (const index of indexes) indexesOf.set(index.of, [...(indexesOf.get(index.of) ?? []), index])

/** Logs for which some index reads the record's members. */
const parsed = new Set(indexes.filter(({ bySides }) => !bySides).map(({ of }) => of))

/** True if side columns alone tell every key under which a record of the log is filed. */
export const isFiledBySides = (resource: Resource): boolean => !parsed.has(resource)

/** Calls `file` with every key under which a record is filed, in every index of its log. */
export function eachFiling(
  resource: Resource,
  record: OpenRecord,
  sides: readonly string[],
  file: (index: Index, key: readonly Element[]) => void,
): void {
  const found = indexesOf.get(resource)
  if (!found) return
  for (const index of found) for (const key of index.keys(record, sides)) file(index, key)
}
