/** Entity tags, what may be kept forever, and what the adapter itself keeps. */
import { beforeEach, describe, expect, it } from 'vitest'
import { generate } from '../../adapters/generate/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { catalogue, type Ledger, type LedgerClose, openLedger } from '../../src/index.ts'
import { type Ask, asker, closes, hashOf, idOf, recordsOf, smallLedger } from './support.ts'

const FOR_EVER = 'public, max-age=31536000, immutable'

let ledger: Ledger
let ask: Ask
beforeEach(async () => {
  ledger = await smallLedger()
  ask = asker(ledger)
})

const keeps = async (target: string): Promise<string> => (await ask(target)).headers['cache-control']!

describe('what can never change is kept forever', () => {
  it('a full ascending page that ends before the newest ledger', async () => {
    expect(await keeps('/ledgers?limit=2')).toBe(FOR_EVER)
    expect(await keeps('/operations?limit=4')).toBe(FOR_EVER)
    expect(await keeps('/accounts/GALICE/operations?limit=1')).toBe(FOR_EVER)
  })

  it('a record of a ledger that another ledger has followed', async () => {
    for (const target of ['/ledgers/2', `/transactions/${hashOf('a')}`, `/transactions/${hashOf('f')}`, `/operations/${idOf(2, 1, 1)}`])
      expect(await keeps(target), target).toBe(FOR_EVER)
  })
})

describe('what may change is revalidated', () => {
  it('pages that are not full, run backwards, or reach the newest ledger; the newest ledger; offers, accounts, the index, errors', async () => {
    const targets = ['/ledgers?limit=3', '/ledgers?limit=10', '/ledgers?limit=1&order=desc', '/operations?cursor=now', '/ledgers/3']
    for (const target of [
      ...targets,
      '/offers/7',
      '/accounts/GBOB',
      '/accounts/GALICE/offers?limit=1',
      '/',
      '/health',
      '/ledgers/9',
      '/ledgers?limit=x',
    ])
      expect(await keeps(target), target).toBe('no-cache')
  })
})

describe('once the oldest ledgers were pruned', () => {
  it('a page is kept forever only from a cursor that history still holds: any other began earlier once, or may begin later', async () => {
    const from = (cursor: string): string => `/ledgers?cursor=${cursor}&limit=1`
    const targets = ['/ledgers?limit=1', from('0'), from(idOf(1, 0, 0)), `/operations?cursor=${idOf(1, 9, 9)}&limit=2`]
    for (const target of targets) expect(await keeps(target), target).toBe(FOR_EVER)
    expect(await keeps(`/operations?cursor=${idOf(2, 0, 0)}&limit=2`)).toBe(FOR_EVER)
    await ledger.prune(2)
    for (const target of targets)
      expect([target, await keeps(target), recordsOf(await ask(target)).length > 0]).toEqual([target, 'no-cache', true])
    expect(await keeps(`/operations?cursor=${idOf(2, 0, 0)}&limit=2`)).toBe(FOR_EVER)
  })
})

describe('an entity tag', () => {
  const targets = [
    '/ledgers',
    '/ledgers/1',
    '/operations?order=desc',
    '/accounts/GBOB',
    '/offers/7',
    '/',
    '/openapi.json',
    '/health',
    '/ledgers?cursor=now',
  ]

  it('answers 304 without a body to whoever has it', async () => {
    for (const target of targets) {
      const { headers, text } = await ask(target)
      const { etag = '' } = headers
      expect(etag).toMatch(/^"[\w-]+"$/)
      for (const known of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
        const again = await ask(target, { 'if-none-match': known })
        expect([again.status, again.text, again.headers['etag']], target).toEqual([304, '', etag])
        expect(again.headers['cache-control']).toBe(headers['cache-control'])
        expect(again.headers['access-control-allow-origin']).toBe('*')
        expect(again.headers['content-type']).toBeUndefined()
      }
      for (const unknown of ['"x"', '"x,*,y"', `"x, W/${etag.slice(1, -1)}, y"`, etag.slice(1, -1), '"', '']) {
        const other = await ask(target, { 'if-none-match': unknown })
        expect([unknown, other.status, other.text]).toEqual([unknown, 200, text])
      }
    }
  })

  it('stays the same however often the page is asked for, and on another core', async () => {
    for (const target of targets) {
      const tags = new Set<string | undefined>()
      for (let i = 0; i < 4; i++) tags.add((await ask(target)).headers['etag'])
      tags.add((await asker(ledger)(target)).headers['etag'])
      expect(tags.size, target).toBe(1)
    }
  })

  it('differs by content type, base URL and profile', async () => {
    for (const target of ['/ledgers', '/ledgers/1']) {
      const tags = [
        await ask(target),
        await ask(target, { accept: 'application/json' }),
        await ask(target, { host: 'other.test' }),
        await asker(ledger, { profile: 'extended' })(target),
      ].map(({ headers }) => headers['etag'])
      expect(new Set(tags).size).toBe(4)
    }
  })

  // Otherwise the tag may change even though the page does not: when the block that holds a record has grown.
  it('changes with a new ledger if the page does, and stays if nothing near the page does', async () => {
    const two = await smallLedger(2)
    const ask = asker(two)
    const tagAt = async (target: string) => (await ask(target)).headers['etag']
    const [page, account, empty] = [
      await tagAt('/ledgers'),
      await tagAt('/accounts/GBOB/operations?order=desc'),
      await tagAt('/ledgers?cursor=now'),
    ]
    await two.append(closes[2]!)
    expect(await tagAt('/ledgers')).not.toBe(page)
    expect(await tagAt('/ledgers?cursor=now')).not.toBe(empty)
    expect(await tagAt('/accounts/GBOB/operations?order=desc')).toBe(account)
  })

  it('changes when the newest ledger is rolled back and another one takes its place', async () => {
    const seen = async () => {
      const tags: (string | undefined)[] = []
      for (const target of ['/operations', '/transactions', '/trades', '/effects', '/ledgers']) {
        const { headers, status } = await ask(target, {}, {})
        tags.push(status === 200 ? headers['etag'] : undefined)
      }
      return tags
    }
    const before = await seen()
    await ledger.rollback(1)
    const [, second] = structuredClone(closes) as [unknown, any]
    // The same records at the same places, except for the hash of the transaction.
    second.transactions[0].hash = hashOf('c')
    await ledger.append(second)
    await ledger.append(closes[2]!)
    const after = await seen()
    expect(after[0]).not.toBe(before[0])
    expect(after[1]).not.toBe(before[1])
    expect(recordsOf(await ask('/operations'))[2]._links.transactions.href).toContain(hashOf('c'))
  })
})

describe('rendered blocks', () => {
  it('give the same bytes as records rendered one by one, in every order, for every kind of page', async () => {
    const big = await openLedger(memory())
    await big.ingest(generate({ ledgers: 30, seed: 5, accounts: 40 }) as Iterable<LedgerClose>)
    const warm = asker(big)
    const targets = ['transactions', 'operations', 'payments', 'effects', 'trades', 'ledgers'].flatMap((name) =>
      ['asc', 'desc'].flatMap((order) => [1, 7, 200].map((limit) => `/${name}?limit=${limit}&order=${order}`)),
    )
    const pair = '/trades?base_asset_type=native&counter_asset_type=native'
    for (const target of [...targets, pair]) {
      const cold = await asker(big)(target)
      expect(cold.status).toBe(200)
      JSON.parse(cold.text)
      let follow = target
      for (let i = 0; i < 4; i++) {
        const [warmed, fresh] = [await warm(follow), await asker(big)(follow)]
        expect(warmed.text).toBe(fresh.text)
        expect(warmed.headers).toEqual(fresh.headers)
        follow = warmed.body._links.next.href.slice('http://folio.test'.length)
      }
    }
    await big.close()
  })

  it('are kept for one base URL, however many Host headers come in; and a busy one replaces an idle one', async () => {
    const read = async () => (await ledger.read(catalogue.operations, {}, {})).records[0]!.block
    const { length } = await read()
    await ask('/operations')
    expect((await read()).finisher).toBe(0) // the first request keeps nothing
    for (let i = 0; i < 10; i++) await ask('/operations')
    const done = await read()
    expect([done.finisher > 0, done.isHot, done.length > length]).toEqual([true, true, true])
    for (let i = 0; i < 200; i++) for (let again = 0; again < 10; again++) await ask('/operations', { host: `host-${i}.test` })
    expect(await read()).toBe(done)
    const { weight } = done
    for (let i = 0; i < 200; i++) await ask('/operations', { host: 'busy.test' })
    expect((await read()).finisher).not.toBe(done.finisher)
    const runs = async () => Number(/folio_rendered_runs_total (\d+)/.exec((await ask('/metrics')).text)![1])
    const before = await runs()
    await ask('/operations', { host: 'busy.test' })
    expect([await runs(), (await read()).weight < 1.2 * weight]).toEqual([before + 1, true])
  })
})
