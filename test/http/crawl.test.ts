/**
 * Every href that the service emits resolves: from the link index on, each link of each answer is followed, templates once without variables and once
 * with cursor, limit and order. The one exception is the service document's own: the effects of a transaction or an operation that has none are not
 * found.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { type Core, createCore } from '../../adapters/http/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { catalogue, type Ledger, type LedgerClose, openLedger, parseJson } from '../../src/index.ts'
import { answerOf, closes } from './support.ts'

const BASE = 'https://crawl.test/base'

interface Link {
  readonly href: string
  readonly templated?: boolean
}

/** Every link in a body, and the type of a problem. */
function* linksIn(value: any): Generator<Link> {
  if (Array.isArray(value)) for (const item of value) yield* linksIn(item)
  else if (typeof value === 'object' && value !== null)
    for (const [name, member] of Object.entries<any>(value)) {
      if (name === '_links') yield* Object.values<Link>(member)
      else yield* linksIn(member)
    }
}

/** RFC 6570 as simple clients do it: `{?a,b}` expands to those of the variables that are set, `{name}` to its example. */
function expand({ href, templated }: Link, variables: Readonly<Record<string, string>>): string | undefined {
  if (!templated) return href
  let missing = false
  const filled = href.replace(/\{(\??)([\w,]+)\}/g, (_, mark: string, names: string) => {
    if (mark === '') {
      missing ||= variables[names] === undefined
      return encodeURIComponent(variables[names] ?? '')
    }
    const set = names.split(',').filter((name) => name !== 'offer_id' && variables[name] !== undefined)
    return set.length === 0 ? '' : `?${set.map((name) => `${name}=${encodeURIComponent(variables[name]!)}`).join('&')}`
  })
  return missing ? undefined : filled
}

interface Crawl {
  readonly answered: number
  readonly withoutEffects: number
  readonly left: number
}

/** Follows links until none are left, or enough were followed. */
async function crawl(ledger: Ledger, examples: Readonly<Record<string, string>>, enough = Number.POSITIVE_INFINITY): Promise<Crawl> {
  const core: Core = createCore(ledger, { baseUrl: BASE, log: (error) => expect.fail(String(error)) })
  const ask = async (href: string) => {
    if (!href.startsWith(`${BASE}/`)) expect.fail(`not below the base URL: ${href}`)
    return answerOf(await core({ method: 'GET', target: href.slice(BASE.length), header: () => undefined }))
  }
  const seen = new Set<string>()
  const queue: string[] = []
  const page = [{}, { limit: '3', order: 'desc' }, { cursor: '0', limit: '2', order: 'asc' }, { cursor: 'now', limit: '30', order: 'desc' }]
  const add = (link: Link): void => {
    for (const variables of page) {
      const href = expand(link, { ...examples, ...variables })
      if (href === undefined || seen.has(href)) continue
      seen.add(href)
      queue.push(href)
    }
  }
  add({ href: `${BASE}/` })
  let withoutEffects = 0
  let answered = 0
  for (let next = 0; next < queue.length && answered < enough; next++) {
    // Taken from all over the queue, so that a bounded crawl sees every kind of link.
    const at = next + ((next * 7919) % (queue.length - next))
    const href = queue[at]!
    queue[at] = queue[next]!
    const { status, body } = await ask(href)
    answered++
    const caused = /\/(transactions|operations)\/(\w+)\/effects(?:\?|$)/.exec(href)
    if (status === 404 && caused) {
      const parent = caused[1] === 'transactions' ? 'effectsOfTransaction' : 'effectsOfOperation'
      const values = parent === 'effectsOfTransaction' ? { hash: caused[2]! } : { operation: BigInt(caused[2]!) }
      await expect(ledger.page(catalogue[parent] as any, values as any), href).rejects.toMatchObject({ code: 'NOT_FOUND' })
      const operations =
        parent === 'effectsOfOperation'
          ? [{ id: caused[2]! }]
          : (await ledger.page(catalogue.operationsOfTransaction, { hash: caused[2]! }, { limit: 200 })).records
      for (const { id } of operations)
        expect(
          (await ledger.page(catalogue.effects, {}, { cursor: String(BigInt(id) - 1n), limit: 1 })).records[0]?.paging_token.startsWith(
            `${id}-`,
          ) ?? false,
        ).toBe(false)
      expect((await ask(`${BASE}${body.type}`)).status).toBe(200)
      withoutEffects++
      continue
    }
    if (status !== 200) expect.fail(`${status} ${href} ${JSON.stringify(body)}`)
    for (const link of linksIn(body)) add(link)
  }
  return { answered, withoutEffects, left: seen.size - answered }
}

async function examplesOf(ledger: Ledger): Promise<Record<string, string>> {
  const [transaction] = (await ledger.page(catalogue.transactions, {}, { limit: 1 })).records
  const [operation] = (await ledger.page(catalogue.operations, {}, { limit: 1 })).records
  const trades = (await ledger.page(catalogue.trades, {}, { limit: 200 })).records
  let offer: string | undefined
  for (const { base_account, counter_account } of trades)
    for (const account of [base_account, counter_account])
      if (account !== undefined) offer ??= (await ledger.page(catalogue.offersOfAccount, { account })).records[0]?.paging_token
  return {
    account: transaction!.account,
    hash: transaction!.hash,
    ledger: String(transaction!.ledger),
    operation: String(operation!.id),
    name: 'not_found',
    ...(offer !== undefined && { offer }),
  }
}

describe('every href resolves', () => {
  it('in a network written by hand', async () => {
    const ledger = await openLedger(memory())
    await ledger.ingest(closes)
    const result = await crawl(ledger, await examplesOf(ledger))
    expect(result).toMatchObject({ left: 0 })
    expect(result.withoutEffects).toBeGreaterThan(3)
  })

  it('in a generated network that starts at ledger 1', async () => {
    const ledger = await openLedger(memory())
    const options = { ledgers: 6, seed: 'crawl', firstLedger: 1, accounts: 30, transactionsPerLedger: 4 }
    await ledger.ingest(generate(options) as Iterable<LedgerClose>)
    const result = await crawl(ledger, await examplesOf(ledger), 2_000)
    expect(result.answered).toBeGreaterThan(1_000)
  })

  it('in a generated network that starts late, with ids past 2^53', async () => {
    const ledger = await openLedger(memory())
    await ledger.ingest(generate({ ledgers: 40, seed: 'late', firstLedger: 2_100_000, accounts: 60 }) as Iterable<LedgerClose>)
    const result = await crawl(ledger, await examplesOf(ledger), 2_000)
    expect(result.withoutEffects).toBeGreaterThan(0)
  })

  it('in a recorded network', async ({ skip }) => {
    const path = new URL('../../../shared/data/testnet-320.ndjson.gz', import.meta.url)
    if (!existsSync(path)) skip('the recorded ledgers are not beside the repository')
    const lines = gunzipSync(await readFile(path))
      .toString()
      .trimEnd()
      .split('\n')
    const ledger = await openLedger(memory())
    await ledger.ingest(
      lines.map((line) => parseJson(line) as LedgerClose),
      { batch: 40 },
    )
    const result = await crawl(ledger, await examplesOf(ledger), 2_000)
    expect(result.answered).toBe(2_000)
  })
})
