/** The engine and the reference model, asked the same: their answers in one form. */
import { expect } from 'vitest'
import type { QueryRequest } from '../../adapters/testing/arbitrary-requests.ts'
import { isRefusal, type NaiveLedger } from '../../adapters/testing/naive-ledger.ts'
import { type AnyMembers, documented } from '../../adapters/testing/naive-records.ts'
import { catalogue, FolioError, type Ledger } from '../../src/index.ts'

const fixed = new Set(Object.values(documented).flat())

/** A record as text that shows types, values and the order of open members; documented members may come in any order. */
export const written = (record: AnyMembers | undefined, ordered = true): string => {
  if (record === undefined) return 'nothing'
  const names = Object.keys(record)
  const first = names.filter((name) => !ordered || fixed.has(name)).sort()
  const rest = names.filter((name) => ordered && !fixed.has(name))
  return JSON.stringify(
    [...first, ...rest].map((name) => [name, record[name]]),
    (_, value) =>
      typeof value === 'bigint'
        ? `${value}n`
        : typeof value === 'number' && !Number.isFinite(value)
          ? String(value)
          : Object.is(value, -0)
            ? 0
            : value,
  )
}

const pageOf = ({ records, ...rest }: { records: readonly AnyMembers[] }, ordered: boolean): unknown => ({
  ...rest,
  records: records.map((record) => written(record, ordered)),
})

/** Asks the engine and the model the same, and expects the same answer. */
export async function agree(ledger: Ledger, model: NaiveLedger, { query, values, options }: QueryRequest): Promise<void> {
  const row = catalogue[query]
  // The order of the open members of a turned trade is not promised.
  const ordered = values['base'] === undefined
  let actual: unknown
  try {
    actual =
      row.kind === 'one'
        ? written((await ledger.get(row as never, values as never)) as AnyMembers | undefined)
        : pageOf(await ledger.page(row as never, values as never, options), ordered)
  } catch (error) {
    if (!(error instanceof FolioError)) throw error
    actual = error.code === 'BAD_REQUEST' ? { code: error.code, field: error.fields['field'] } : { code: error.code }
  }
  const answer = row.kind === 'one' ? model.get(query, values) : model.page(query, values, options)
  const wanted = isRefusal(answer)
    ? answer
    : row.kind === 'one'
      ? written(answer as AnyMembers | undefined)
      : pageOf(answer as { records: AnyMembers[] }, ordered)
  try {
    expect(actual).toEqual(wanted)
  } catch (error) {
    const asked = JSON.stringify({ query, values, options }, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))
    throw new Error(`engine and model differ on ${asked}\n${(error as Error).message}`)
  }
}

/** The asset of a side of a trade, in the form that filters take. */
export const assetOf = (trade: { readonly [member: string]: unknown }, side: 'base' | 'counter'): Record<string, unknown> =>
  trade[`${side}_asset_type`] === 'native'
    ? { type: 'native' }
    : { type: trade[`${side}_asset_type`], code: trade[`${side}_asset_code`], issuer: trade[`${side}_asset_issuer`] }
