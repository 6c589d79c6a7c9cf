/** Questions about ledgers, and answers that can be compared: errors are answers too. */
import { catalogue, FolioError, type Ledger, type LedgerClose, type PageOptions, type QueryName } from '../../src/index.ts'

type Order = NonNullable<PageOptions['order']>

export interface Question {
  readonly name: string
  /** The records of the answer, each with the ledger it belongs to. */
  readonly ask: (ledger: Ledger, order?: Order) => Promise<readonly (readonly [ledger: number, text: string])[]>
}

export const said = (record: unknown): string => JSON.stringify(record, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))
const ledgerOf = (record: any): number => {
  const token = String(record.paging_token ?? '').split('-')[0]!
  return Number(record.sequence ?? record.ledger ?? (token === '' ? 0 : BigInt(token) >> 32n))
}
const distinct = <T>(all: Iterable<T>): T[] => [...new Set(all)]
/** About a dozen of them. */
const some = <T>(all: readonly T[]): T[] => all.filter((_, at) => at % Math.ceil(all.length / 12) === 0)

/** What a service would ask of these ledgers: every listing and record of the catalogue, of about a dozen values each. */
export function questionsOf(closes: readonly LedgerClose[]): Question[] {
  const transactions = closes.flatMap(({ transactions = [] }) => transactions)
  const values: Readonly<Record<string, readonly unknown[]>> = {
    account: distinct(transactions.map(({ account }) => account)),
    ledger: closes.map(({ ledger }) => ledger.sequence),
    hash: transactions.map(({ hash }) => hash.toLowerCase()),
    offer: distinct(closes.flatMap(({ offers }) => (offers?.changed ?? []).map(({ id }) => BigInt(id)))),
    operation: closes.flatMap(({ ledger, transactions = [] }) =>
      transactions.map((_, nth) => (BigInt(ledger.sequence) << 32n) | (BigInt(nth + 1) << 12n) | 1n),
    ),
  }
  const questions: Question[] = []
  for (const [name, query] of Object.entries(catalogue)) {
    const key = /\{(\w+)\}/.exec(query.path)?.[1]
    const all = key === undefined ? [{}] : some(values[key] ?? []).map((value) => ({ [key]: value }))
    for (const asked of all) questions.push(questionOf(name as QueryName, asked))
  }
  return questions
}

/** @param values of the path, and filters */
export function questionOf(name: QueryName, values: object): Question {
  const query: any = catalogue[name]
  return {
    name: `${name} ${said(values)}`,
    async ask(ledger, order = 'asc') {
      const records: unknown[] = []
      if (query.kind === 'one') records.push(...[await ledger.get(query, values)].filter((record) => record !== undefined))
      else for await (const record of ledger.records(query, values, { order })) records.push(record)
      return records.map((record) => [ledgerOf(record), said(record)] as const)
    },
  }
}

/** The records, or the code of the error that came first. */
export type Answer = Awaited<ReturnType<Question['ask']>> | string

export async function answer(ledger: Ledger, { ask }: Question, order?: Order): Promise<Answer> {
  try {
    return await ask(ledger, order)
  } catch (error) {
    if (!(error instanceof FolioError)) throw error
    return error.code
  }
}
