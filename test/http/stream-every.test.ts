/**
 * Every endpoint that has a stream serves it: from the start, from `now`, with its filters, in both profiles; and its events are the records of its
 * pages.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Core, createCore } from '../../adapters/http/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { catalogue, type Ledger, type List, openLedger } from '../../src/index.ts'
import { turns } from '../support/turns.ts'
import { BASE, closes, ISSUER, idOf, ODD, smallLedger } from './support.ts'

const listsOf = (live: boolean): string[] =>
  (Object.values(catalogue) as { kind: string; path: string; live?: boolean }[])
    .filter((row) => row.kind === 'list' && (row as unknown as List).live === live)
    .map(({ path }) => path)
/** What the small network has under each path. */
const filled: Record<string, string> = { account: 'GALICE', offer: '7' }
const pathOf = (path: string): string => path.replace(/\{(\w+)\}/g, (_, name) => filled[name]!)
const credit = `counter_asset_type=credit_alphanum4&counter_asset_code=ABC&counter_asset_issuer=${ISSUER}`
const turned = `base_asset_type=credit_alphanum4&base_asset_code=ABC&base_asset_issuer=${ISSUER}&counter_asset_type=native`

let ledger: Ledger
beforeAll(async () => {
  ledger = await smallLedger()
})
afterAll(() => ledger.close())

const ask = (core: Core, target: string, accept: string) =>
  core({ method: 'GET', target, header: (name) => ({ host: 'folio.test', accept })[name] })

async function lagOf(core: Core): Promise<number> {
  const { parts } = await ask(core, '/metrics', '*/*')
  return Number(/^folio_stream_lag_ledgers (\d+)$/m.exec(Buffer.concat([...parts]).toString())?.[1])
}

/** The frames of a stream, until it waits. */
async function framesOf(core: Core, target: string): Promise<string[]> {
  const { status, frames } = await ask(core, target, 'text/event-stream')
  expect(status).toBe(200)
  let text = ''
  let ended = false
  for (let got: string | undefined = ''; got !== undefined; ) {
    text += got
    got = undefined
    const frame = ({ bytes }: { bytes: Uint8Array }): void => {
      got = Buffer.from(bytes).toString()
    }
    frames!.pull({ frame, end: () => (ended = true) })
    while (got === undefined && !ended && ledger.waitingStreams === 0) await turns()
  }
  expect(ended).toBe(false)
  frames!.end()
  expect(ledger.waitingStreams).toBe(0)
  return text.split('\n\n').slice(0, -1)
}

/** What the events must be: the texts of the records of a page, and their tokens. */
async function eventsOf(core: Core, target: string): Promise<string[]> {
  const { parts } = await ask(core, target, 'application/json')
  const text = Buffer.concat(parts).toString()
  const { records } = (JSON.parse(text) as { _embedded: { records: { paging_token: string }[] } })._embedded
  const list = text.slice(text.indexOf('"records":[') + 11, text.lastIndexOf(']'))
  const starts = records.map((_, n) => nth(list, n))
  return records.map(({ paging_token }, n) => `data: ${list.slice(starts[n], (starts[n + 1] ?? list.length + 1) - 1)}\nid: ${paging_token}`)
}

/** Where the n-th record begins in a list of them. */
function nth(list: string, n: number): number {
  let depth = 0
  let quoted = false
  for (let i = 0; i < list.length; i++) {
    if (list[i] === '\\') i++
    else if (list[i] === '"') quoted = !quoted
    else if (!quoted && list[i] === '{' && depth++ === 0 && n-- === 0) return i
    else if (!quoted && list[i] === '}') depth--
  }
  return list.length
}

describe.each(['document', 'extended'] as const)('in the profile %s', (profile) => {
  test.each([
    ...listsOf(true).map(pathOf),
    `/accounts/${encodeURIComponent(ODD)}/operations`,
    `/trades?base_asset_type=native&${credit}`,
    `/trades?${turned}`,
    `/accounts/GALICE/trades?${turned}`,
    '/trades?offer_id=7',
  ])('the events of %s are the records of its pages', async (target) => {
    const core = createCore(ledger, { profile })
    const [hello, ...events] = await framesOf(core, target)
    expect(hello).toBe('retry: 1000\nevent: open\ndata: "hello"\nid: ')
    expect(events.length).toBeGreaterThan(0)
    expect(events).toEqual(await eventsOf(core, target))
    // The same after a cursor.
    const first = /\nid: (.*)$/.exec(events[0]!)![1]
    const after = await framesOf(core, `${target}${target.includes('?') ? '&' : '?'}cursor=${first}`)
    expect(after).toEqual([`retry: 1000\nevent: open\ndata: "hello"\nid: ${first}`, ...events.slice(1)])
  })
})

test.each(listsOf(true).map(pathOf))('%s from now says where now is, in its own tokens', async (target) => {
  const core = createCore(ledger)
  const of = target.split('/').at(-1)!
  const whole = of === 'offers' ? '/accounts/%C3%B6%20%2F%3F%23%22%5C%25%26%2B%3Cx%3E/offers' : of === 'payments' ? '/operations' : `/${of}`
  const newest = await ask(core, `${whole}?order=desc&limit=1`, 'application/json')
  const { paging_token } = JSON.parse(
    Buffer.concat(newest.parts)
      .toString()
      .replace(/"id":(\d+)/, '"id":"$1"'),
  )._embedded.records[0]
  expect(await framesOf(core, `${target}?cursor=now`)).toEqual([`retry: 1000\nevent: open\ndata: "hello"\nid: ${paging_token}`])
})

test.each(listsOf(true).map(pathOf))('%s does not stream backwards', async (target) => {
  const { status, parts } = await ask(createCore(ledger), `${target}?order=desc`, 'text/event-stream')
  expect([status, JSON.parse(Buffer.concat(parts).toString()).extras.invalid_field]).toEqual([400, 'order'])
})

test.each(listsOf(false))('%s does not stream', async (path) => {
  const { status } = await ask(createCore(ledger), path.replace(/\{\w+\}/g, '1'), 'text/event-stream')
  expect(status).toBe(406)
})

test('offers are streamed as they are created; an older one that changed is not new', async () => {
  const growing = await smallLedger(1)
  const core = createCore(growing, { baseUrl: BASE })
  const { frames } = await ask(core, '/accounts/GALICE/offers?cursor=now', 'text/event-stream')
  const next = (): Promise<string> =>
    new Promise((resolve) => frames!.pull({ frame: ({ bytes }) => resolve(Buffer.from(bytes).toString()), end: () => resolve('the end') }))
  expect(await next()).toMatch(/\nid: 0\n\n$/)
  const created = next()
  await growing.append(closes[1]!)
  expect(await created).toMatch(/^data: \{.*\}\nid: 7\n\n$/)
  const later = next()
  const [offer] = closes[1]!.offers!.changed!
  await growing.append({
    ...closes[2]!,
    offers: {
      changed: [
        { ...offer, amount: '4.0000000' },
        { ...offer, id: 8 },
      ],
    },
  } as never)
  expect(await later).toMatch(/^data: \{.*\}\nid: 8\n\n$/)
  frames!.end()
  await growing.close()
})

test('the lag of a stream of offers is counted in the ledgers that they changed in, whatever their ids', async () => {
  for (const high of [0n, 5n]) {
    const many = structuredClone(closes) as any[]
    const [offer] = many[1].offers.changed
    many[1].offers.changed = Array.from({ length: 201 }, (_, n) => ({ ...offer, id: String((high << 32n) + BigInt(n)) }))
    const full = await openLedger(memory())
    await full.ingest(many)
    const core = createCore(full)
    const { frames } = await ask(core, '/accounts/GALICE/offers', 'text/event-stream')
    // The hello, and a page that is not the last one.
    for (let n = 0; n < 2; n++) await new Promise<void>((resolve) => frames!.pull({ frame: () => resolve(), end: () => resolve() }))
    expect(await lagOf(core)).toBe(1)
    frames!.end()
    await full.close()
  }
})

test.each([
  ['the oldest ledger', '', 2],
  ['a ledger', `?cursor=${idOf(1, 5, 0)}`, 1],
  ['a ledger to come', `?cursor=${idOf(99, 0, 0)}`, 0],
  ['now', '?cursor=now', 0],
])('a stream from %s that nobody reads lags by the ledgers that follow', async (_, cursor, lag) => {
  const growing = await smallLedger(2)
  const core = createCore(growing)
  const { frames } = await ask(core, `/transactions${cursor}`, 'text/event-stream')
  expect(await lagOf(core)).toBe(lag)
  await growing.append(closes[2]!)
  expect(await lagOf(core)).toBe(lag + 1)
  frames!.end()
  expect(await lagOf(core)).toBe(0)
  await growing.close()
})

test('a stream that was given all records lags by no ledger, though the newest has none', async () => {
  const core = createCore(ledger)
  const { frames } = await ask(core, '/transactions', 'text/event-stream')
  // The hello, and a page that is the last one.
  for (const lag of [3, 0]) {
    await new Promise<void>((resolve) => frames!.pull({ frame: () => resolve(), end: () => resolve() }))
    expect(await lagOf(core)).toBe(lag)
  }
  frames!.end()
})
