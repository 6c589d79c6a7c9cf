/** Listings that are known by their text: a request gets the same answer whether or not its listing was asked for before. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LinkedListing, Listings } from '../../adapters/http/listings.ts'
import { catalogue } from '../../src/index.ts'
import { Listing } from '../../src/scan/listing.ts'
import { asker, closes, ISSUER, idOf, ODD, smallLedger } from './support.ts'

const credit = `counter_asset_type=credit_alphanum4&counter_asset_code=ABC&counter_asset_issuer=${ISSUER}`
const pair = `base_asset_type=native&${credit}`
const paths = [
  '/transactions',
  '/ledgers',
  '/trades',
  '/accounts/GALICE/operations',
  `/accounts/${encodeURIComponent(ODD)}/trades`,
  '/accounts/GNOBODY/effects',
]
const wrongPaths = [
  '/accounts/%zz/trades',
  '/offers/x/trades',
  '/nothing',
  '//folio.test/trades',
  '/trades/',
  '/offers/7/trades',
  '/ledgers/2',
  'trades',
]
const heads = [
  '',
  `${pair}&`,
  'offer_id=7&',
  'x=1&',
  'limit=1&',
  'cur%73or=1&',
  'order=&',
  'limit=2?',
  'x=1?order=desc&',
  'base_asset_code=cursor=1&',
  'base_asset_type=x&',
  'cursor=&',
  '%63ursor=&',
]
const cursors = [
  '',
  idOf(1, 1, 1),
  idOf(2, 1, 1),
  `${idOf(2, 1, 1)}-0`,
  '0',
  'now',
  'no',
  '-',
  '1-',
  '9'.repeat(20),
  '%31',
  '1+',
  'x',
  '1?limit=1',
  '٣',
]
const limits = ['', '1', '2', '010', '200', '201', '0', '1e1', '-1', '%31', '2 ', '0002']
const orders = ['', 'asc', 'desc', 'ASC', 'des%63']
const text = (name: string, values: readonly string[]) => fc.constantFrom(...values).map((value) => `${name}=${value}`)
const page = fc.oneof(
  fc.tuple(text('cursor', cursors), text('limit', limits), text('order', orders)).map((parts) => parts.join('&')),
  fc
    .array(fc.oneof(text('cursor', cursors), text('limit', limits), text('order', orders), fc.constantFrom('', 'x=1', pair)), {
      maxLength: 4,
    })
    .map((parts) => parts.join('&')),
)
const request = fc
  .tuple(fc.constantFrom(...paths, ...paths, ...wrongPaths), fc.constantFrom(...heads, '', `${pair}&`), page)
  .map(([path, head, tail]) => `${path}?${head}${tail}`)

describe('a request', () => {
  it('is answered as if it were the first, whatever was asked for before', async () => {
    const ledger = await smallLedger()
    const later = asker(ledger)
    const accepts = fc.constantFrom('*/*', 'application/json', 'text/html')
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(request, accepts), { minLength: 1, maxLength: 4 }), async (requests) => {
        for (const [target, accept] of requests) {
          // Asked for in its plain form first, so that whatever is kept by then is the listing that the text begins with.
          await later(`${target.slice(0, target.indexOf('?'))}?cursor=&limit=3&order=asc`)
          await later(target)
          const [known, fresh] = [await later(target, { accept }), await asker(ledger)(target, { accept })]
          const { instance: _, ...problem } = (known.body ?? {}) as Record<string, unknown>
          const { instance: __, ...wanted } = (fresh.body ?? {}) as Record<string, unknown>
          expect([target, known.status, problem]).toEqual([target, fresh.status, wanted])
          if (known.status === 200) expect([known.text, known.headers]).toEqual([fresh.text, fresh.headers])
        }
      }),
      { numRuns: 300 },
    )
  })

  it('for a known listing sees what has happened to it since', async () => {
    const ledger = await smallLedger(1)
    const ask = asker(ledger)
    const target = `/trades?${pair}&cursor=&limit=10&order=asc`
    expect((await ask(target)).body._embedded.records).toEqual([])
    const later = await smallLedger()
    expect((await asker(later)(target)).body._embedded.records).toHaveLength(2)
    await ledger.ingest(closes.slice(1))
    expect((await ask(target)).body._embedded.records).toHaveLength(2)
  })
})

describe('listings', () => {
  const listing = new LinkedListing(new Listing(catalogue.transactions, {}))
  const found = (listings: Listings, target: string) => listings.find(target)?.asked

  it('are found by what precedes the page, and the page is read', () => {
    const listings = new Listings()
    expect(listings.find('/transactions?cursor=5')).toBeUndefined()
    listings.keep('/transactions?cursor=7&limit=1', listing)
    expect(listings.find('/transactions?cursor=5')).toEqual({ listing, asked: { cursor: '5', limit: 10, order: 'asc' } })
    expect(found(listings, '/transactions?order=desc&limit=200&cursor=5')).toBeUndefined()
    expect(found(listings, '/transactions?cursor=now&order=desc&limit=200')).toEqual({ cursor: 'now', limit: 200, order: 'desc' })
    expect(found(listings, '/transactions?limit=3')).toEqual({ cursor: '', limit: 3, order: 'asc' })
    for (const other of [
      '/transactions',
      '/transactions?x=1&cursor=5',
      '/transactions?cursor=5&cursor=6',
      '/transactions?cursor=5&limit=201',
      '/transactions?limit=0000000002',
      '/transactions?cursor=&order=asc&order=desc',
      '/transactions?cursor=&limit=1&limit=2',
    ])
      expect([other, listings.find(other)]).toEqual([other, undefined])
  })

  it('are not kept if what precedes the page has a say in it, or is long', () => {
    for (const head of [
      '/transactions?limit=1&',
      '/transactions?x',
      '/transactions?%63ursor=&',
      '/transactions?ord%65r=asc&',
      '/transactions?x=1?order=desc&',
      `/transactions?x=${'y'.repeat(512)}&`,
      'http://folio.test/transactions?',
    ]) {
      const listings = new Listings()
      listings.keep(`${head}cursor=5`, listing)
      expect([head, listings.find(`${head}cursor=5`)]).toEqual([head, undefined])
    }
  })

  it('are forgotten once many others have been asked for', () => {
    const listings = new Listings()
    const target = (n: number): string => `/transactions?x=${n}&cursor=1`
    for (let n = 0; n < 2048; n++) listings.keep(target(n), listing)
    expect([found(listings, target(5)), found(listings, target(2047))].map((one) => one !== undefined)).toEqual([true, true])
    for (let n = 3000; n < 5048; n++) {
      listings.keep(target(n), listing)
      // One that is asked for all the time stays.
      listings.find(target(5))
    }
    expect([0, 1, 2047, 5].map((n) => listings.find(target(n)) !== undefined)).toEqual([false, false, false, true])
  })
})
