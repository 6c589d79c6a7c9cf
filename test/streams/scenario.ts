/**
 * A ledger with a writer and several subscribers, each step of which fast-check's scheduler releases, and what each subscriber saw.
 * The closes form a tree: what follows a ledger depends on its hash and on a salt, so that branches differ in every record.
 */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { naiveLedger } from '../../adapters/testing/naive-ledger.ts'
import type { AnyMembers } from '../../adapters/testing/naive-records.ts'
import { catalogue, FolioError, type Ledger, type LedgerClose, openLedger, type QueryName, type Store } from '../../src/index.ts'
import { turns } from '../support/turns.ts'
import { type End, type Shown, streamFaults, type Telling, type Watched } from './laws.ts'

const FIRST = 100
const native = { type: 'native' } as const
const usd = { type: 'credit_alphanum4', code: 'USD', issuer: 'GISSUER' } as const

/** The lists that subscribers follow. The account `late` does not exist from the start. */
export const subjects = {
  ledgers: { query: 'ledgers', values: {} },
  transactions: { query: 'transactions', values: {} },
  operations: { query: 'operations', values: {} },
  payments: { query: 'payments', values: {} },
  effects: { query: 'effects', values: {} },
  ofAccount: { query: 'operationsOfAccount', values: { account: 'a' } },
  ofLate: { query: 'operationsOfAccount', values: { account: 'late' } },
  tradesOfPair: { query: 'trades', values: { base: native, counter: usd } },
  tradesTurned: { query: 'tradesOfAccount', values: { account: 'b', base: usd, counter: native } },
  offers: { query: 'offersOfAccount', values: { account: 'a' } },
} as const satisfies Record<string, { query: QueryName; values: AnyMembers }>
export type Subject = keyof typeof subjects

const closes = new Map<string, LedgerClose>()
const sha = (text: string): string => createHash('sha256').update(text).digest('hex')

/** The close after `head`. */
function closeAfter(head: string, salt: number, large = false): LedgerClose {
  const sequence = (closes.get(head)?.ledger.sequence ?? FIRST - 1) + 1
  const hash = sha(`${head} ${salt} ${large}`)
  const known = closes.get(hash)
  if (known) return known
  const mark = hash.slice(0, 6)
  const seller = ['a', 'b'][sequence % 2]!
  const payment = (n: number): AnyMembers => ({
    ...{ type: 'payment', type_i: 1, mark: `${mark}.${n}`, amount: 1, amount_f: 0.0000001, asset: { code: 'USD' } },
    ...{ sender: n % 2 ? 'b' : 'a', receiver: salt % 2 ? 'c' : 'late' },
    effects: [{ account: 'c', type: 'account_credited', type_i: 2, amount: '1.0000000', asset_type: 'native', mark: `${mark}.${n}` }],
  })
  const trade = {
    ...{ base_account: 'a', base_amount: '1.0000000', base_asset_type: 'native' },
    ...{ counter_account: 'b', counter_amount: '2.0000000', counter_asset_type: 'credit_alphanum4', counter_asset_code: 'USD' },
    ...{ counter_asset_issuer: 'GISSUER', base_is_seller: true, price: { n: 1, d: 2 }, mark },
  }
  const operation = { type: 'manage_offer', type_i: 3, mark, trades: [trade] }
  const transaction = (account: string, operations: readonly AnyMembers[], at: number): AnyMembers => ({
    ...{ hash: sha(`${hash} ${at}`), account, account_sequence: sequence, max_fee: 100, fee_paid: 100, mark },
    ...{ envelope_xdr: 'AAAA', result_xdr: 'AAAA', result_meta_xdr: 'AAAA', operations },
  })
  const offer = (id: number): AnyMembers => ({
    ...{
      id,
      seller,
      selling: { asset_type: 'native' },
      buying: { asset_type: 'credit_alphanum4', asset_code: 'USD', asset_issuer: 'GISSUER' },
    },
    ...{ amount: '5.0000000', price_r: { n: 1, d: 1 }, price: '1.0000000', mark: `${id}.${mark}`, at: sequence },
  })
  const quiet = !large && sequence % 7 === 3
  const close = {
    ledger: {
      ...{ hash, prev_hash: closes.get(head)?.ledger.hash ?? '', sequence, mark },
      closed_at: new Date(Date.UTC(2020, 0, 1) + sequence * 5000).toISOString().replace('.000Z', 'Z'),
      ...{ total_coins: '1.0000000', fee_pool: '1.0000000', base_fee_in_stroops: 100, base_reserve_in_stroops: 5, max_tx_set_size: 9 },
    },
    transactions: quiet
      ? []
      : [
          transaction(
            'a',
            Array.from({ length: large ? 100 : 1 + (sequence % 3) }, (_, n) => payment(n)),
            0,
          ),
          ...(large
            ? [1, 2, 3].map((at) =>
                transaction(
                  'b',
                  Array.from({ length: 80 }, (_, n) => payment(n + at * 100)),
                  at,
                ),
              )
            : []),
          ...(sequence % 2 ? [transaction('b', [operation], 9)] : []),
        ],
    // Two new offers, a changed older one, and a removed one.
    offers: {
      changed: [offer(sequence * 10), offer(sequence * 10 + 1), ...(sequence > FIRST + 3 ? [offer((sequence - 2) * 10)] : [])],
      removed: sequence > FIRST + 4 ? [(sequence - 4) * 10 + 1] : [],
    },
  } as unknown as LedgerClose
  closes.set(hash, close)
  return close
}

function chain(head: string): LedgerClose[] {
  const all: LedgerClose[] = []
  for (let close = closes.get(head); close; close = closes.get(close.ledger.prev_hash ?? '')) all.unshift(close)
  return all
}

const shown = (query: QueryName, record: AnyMembers): Shown => {
  const token = String(record['paging_token'] ?? record['id'])
  return {
    token,
    ledger: query === 'offersOfAccount' ? Number(record['at']) : Number(BigInt(token.split('-')[0]!) >> 32n),
    text: `${token} ${record['mark']} ${record['base_asset_code'] ?? ''} ${record['last_modified'] ?? ''}`,
  }
}

const models = new Map<string, ReturnType<typeof naiveLedger>>()
const lists = new Map<string, readonly Shown[]>()

function modelOf(head: string): ReturnType<typeof naiveLedger> {
  const model = models.get(head) ?? naiveLedger(chain(head))
  models.set(head, model)
  return model
}

function listOf(subject: Subject, head: string): readonly Shown[] {
  const key = `${subject} ${head}`
  let list = lists.get(key)
  if (!list) {
    const { query, values } = subjects[subject]
    const found = modelOf(head).list(query, values)
    list = 'code' in found ? [] : found.map(({ record, token }) => shown(query, { ...record, paging_token: token }))
    lists.set(key, list)
  }
  return list
}

const hashAt = (head: string, ledger: number): string | undefined =>
  chain(head).find(({ ledger: { sequence } }) => sequence === ledger)?.ledger.hash

export interface Subscriber {
  readonly subject: Subject
  readonly via: 'stream' | 'streamPages' | 'tail'
  readonly from: 'start' | 'now' | number
  /** Steps of the writer before it begins. */
  readonly when: number
  /** Scheduled steps between two pulls. */
  readonly pause: number
  readonly stop: 'never' | 'abort' | 'return' | 'break'
  /** Scheduled steps, or for `break` records, until it stops. */
  readonly stopAfter: number
  /** Whether it subscribes during a step of the writer, not before it. */
  readonly eager: boolean
}
export interface Step {
  readonly what: 'append' | 'ingest' | 'rollback'
  readonly count: number
  readonly salt: number
}
export interface Plan {
  readonly steps: readonly Step[]
  readonly subscribers: readonly Subscriber[]
  readonly large: boolean
  readonly close: boolean
  readonly fileEvery: number
}

const anyPlan: fc.Arbitrary<Plan> = fc.record({
  steps: fc.array(
    fc.record({
      what: fc.constantFrom('append', 'append', 'ingest', 'rollback') as fc.Arbitrary<Step['what']>,
      count: fc.integer({ min: 1, max: 4 }),
      salt: fc.integer({ min: 0, max: 1 }),
    }),
    { minLength: 1, maxLength: 6, size: 'max' },
  ),
  subscribers: fc.array(
    fc.record({
      subject: fc.constantFrom(...(Object.keys(subjects) as Subject[])),
      via: fc.constantFrom('stream', 'streamPages', 'tail') as fc.Arbitrary<Subscriber['via']>,
      from: fc.oneof(fc.constantFrom('start' as const, 'now' as const, 'now' as const), fc.integer({ min: 0, max: 30 })),
      when: fc.nat(5),
      pause: fc.nat(2),
      stop: fc.constantFrom('never', 'never', 'never', 'abort', 'return', 'break') as fc.Arbitrary<Subscriber['stop']>,
      stopAfter: fc.nat(12),
      eager: fc.boolean(),
    }),
    { minLength: 1, maxLength: 5, size: 'max' },
  ),
  large: fc.integer({ min: 0, max: 15 }).map((n) => n === 0),
  close: fc.boolean(),
  fileEvery: fc.constantFrom(1, 10, 1000),
})

/** In every second one, all follow the same list: what goes wrong between streams that wait at one place needs several of them. */
export const plan: fc.Arbitrary<Plan> = fc
  .tuple(anyPlan, fc.boolean())
  .map(([one, together]) =>
    together ? { ...one, subscribers: one.subscribers.map((each) => ({ ...each, subject: one.subscribers[0]!.subject })) } : one,
  )

/** How long what is to happen may take: a store's own threads take a while, and where a turn was long, work goes on in a later one. */
const PATIENCE_MS = 3000

export interface Stage {
  /** The store of the ledger; `later` is a wait that the scheduler ends. */
  readonly store: (later: () => Promise<void>) => Store | Promise<Store>
  /** Another store over the same disk, whose ledger the subscribers follow instead; it is told of nothing, and has to look. */
  readonly reader?: (later: () => Promise<void>) => Store
  /** Plants a fault. */
  readonly sabotage?: ((ledger: Ledger) => void) | undefined
}

/** Plays a plan, and returns what is wrong. */
export async function play(s: fc.Scheduler, { steps, subscribers, large, close, fileEvery }: Plan, stage: Stage): Promise<string[]> {
  let late = false
  const step = (label: string): Promise<void> => s.schedule(Promise.resolve(), label)
  const ledger = await openLedger(await stage.store(() => (late ? step('store') : Promise.resolve())), { fileEvery })
  const heads: string[] = []
  const rollbacks: number[] = []
  const advance = async (count: number, salt: number, whole: boolean): Promise<void> => {
    const group: LedgerClose[] = []
    let head = heads.at(-1) ?? ''
    for (let n = 0; n < count; n++) {
      group.push(closeAfter(head, salt, large && heads.length === 0 && n === 0))
      head = group.at(-1)!.ledger.hash
    }
    if (whole) await ledger.ingest(group, { batch: count, onBatch: () => void heads.push(head), durable: false })
    else
      for (const one of group) {
        await step('append')
        await ledger.append(one, { durable: false })
        heads.push(one.ledger.hash)
      }
  }
  await advance(3, 0, true)
  const followed = stage.reader
    ? await openLedger(
        stage.reader(() => (late ? step('store') : Promise.resolve())),
        { fileEvery, pollMs: 2 ** 30 },
      )
    : ledger
  stage.sabotage?.(followed)
  /** How many heads the followed ledger may have had so far: one that has to look is behind. */
  const known = (): number => (followed === ledger ? heads.length : heads.indexOf(followed.head!.hash) + 1)
  late = true

  const faults: string[] = []
  const watching: { watched: { -readonly [K in keyof Watched]: Watched[K] }; seen: Shown[]; stop: () => unknown; done: Promise<void> }[] =
    []
  const subscribe = (one: Subscriber, at: number): void => {
    const { query, values } = subjects[one.subject]
    const row = catalogue[query]
    const head = followed.head!
    const listed = listOf(one.subject, head.hash)
    const after =
      one.from === 'start' ? '' : one.from === 'now' ? nowOf(query, head.hash) : (listed[one.from % (listed.length || 1)]?.token ?? '')
    const book = query === 'offersOfAccount'
    const passed = after === '' ? 0 : book || one.from === 'now' ? head.last : Number(BigInt(after.split('-')[0]!) >> 32n)
    const controller = new AbortController()
    const cursor = one.from === 'now' ? 'now' : after
    const stream = followed[one.via](row as never, values as never, {
      ...(cursor && { cursor }),
      signal: controller.signal,
    }) as AsyncIterableIterator<any>
    const seen: Shown[] = []
    const watched = {
      ...{
        name: `${at} ${one.subject} ${one.via} from ${cursor || 'start'}`,
        after,
        passed,
        book,
        startHead: head.hash,
        startedAt: known(),
        seen,
      },
      ...{ end: 'waiting' as End, pulledAt: known(), endedAt: heads.length },
    }
    let stopped = false
    const stop = (): unknown => {
      stopped = true
      return one.stop === 'abort' ? controller.abort() : stream.return!()
    }
    const show = (value: any): Shown[] =>
      (one.via === 'tail' ? value.records.map(({ block, at }: any) => block.record(at)) : one.via === 'streamPages' ? value : [value]).map(
        (record: AnyMembers) => shown(query, record),
      )
    const read = async (): Promise<void> => {
      try {
        for (;;) {
          for (let n = 0; n < one.pause; n++) await step('read')
          watched.pulledAt = known()
          const { done, value } = await stream.next()
          watched.endedAt = heads.length
          if (done) {
            watched.end = stopped ? 'stopped' : 'closed'
            if (!stopped && !followed.closed) faults.push(`${watched.name}: it ended by itself`)
            return
          }
          seen.push(...show(value))
          if (one.stop === 'break' && seen.length >= one.stopAfter) await stop()
        }
      } catch (error) {
        watched.endedAt = heads.length
        if (!(error instanceof FolioError)) throw error
        // An account that history does not have (any more), and of which nothing was shown, is not found.
        const absent = heads.slice(Math.max(0, watched.pulledAt - 1)).some((hash) => listOf(one.subject, hash).length === 0)
        watched.end = error.code === 'NOT_FOUND' && seen.length === 0 && absent ? 'stopped' : error
      }
    }
    const timed = async (): Promise<void> => {
      for (let n = 0; n < one.stopAfter; n++) await step('stop')
      await stop()
    }
    const done = read()
    if (one.stop === 'abort' || one.stop === 'return') void timed()
    watching.push({ watched, seen, stop, done })
  }

  let written = false
  const write = async (): Promise<void> => {
    for (const [at, { what, count, salt }] of steps.entries()) {
      await step('write')
      for (const [name, one] of subscribers.entries()) if (one.when % steps.length === at && !one.eager) subscribe(one, name)
      if (what === 'rollback') {
        const to = Math.max(FIRST, ledger.head!.last - count)
        if (to >= ledger.head!.last) continue
        rollbacks.push(to)
        // History is rolled back in steps, and readers see each of them.
        const steps = chain(heads.at(-1)!).map(({ ledger: { hash } }) => hash)
        const back = steps.slice(steps.indexOf(hashAt(heads.at(-1)!, to)!), -1).reverse()
        const done = ledger.rollback(to)
        await step('taking back')
        for (const [name, one] of subscribers.entries()) if (one.when % steps.length === at && one.eager) subscribe(one, name)
        await done
        heads.push(...back)
      } else {
        const done = advance(count, salt, what === 'ingest')
        await step('appending')
        for (const [name, one] of subscribers.entries()) if (one.when % steps.length === at && one.eager) subscribe(one, name)
        await done
      }
    }
    written = true
  }
  const writing = write()
  const looking = (async () => {
    while (followed !== ledger && !followed.closed) {
      const last = written
      await step('look')
      // If something is written during a look, the next look sees it.
      await followed.refresh().catch((error) => !['CORRUPT', 'CLOSED'].includes(error.code) && faults.push(`a look failed: ${error}`))
      if (last && followed.head!.hash === ledger.head!.hash) break
    }
  })()
  const telling: Telling = { heads, rollbacks, listOf: ({ name }, head) => listOf(name.split(' ')[1] as Subject, head), hashAt }

  /** Lets everything happen that can happen, until all that is left is to wait. */
  const settle = async (isOver: () => boolean): Promise<void> => {
    let until = Date.now() + PATIENCE_MS
    for (let idle = 0; idle < 6 || (!isOver() && Date.now() < until); ) {
      if (s.count() > 0) {
        await s.waitOne()
        idle = 0
        until = Date.now() + PATIENCE_MS
      } else {
        await turns()
        idle++
      }
    }
  }
  const waiting = (): boolean => written && followed.waitingStreams === watching.filter(({ watched }) => watched.end === 'waiting').length
  await settle(waiting)
  if (!written) return [...faults, 'the writer never came to its end']
  await writing
  if (close) {
    const closing = followed.close()
    await settle(() => watching.every(({ watched }) => watched.end !== 'waiting'))
    for (const { watched } of watching) if (watched.end === 'waiting') faults.push(`${watched.name}: closing did not end it`)
    await closing
    for (const { watched } of watching) faults.push(...streamFaults(watched, telling))
  } else {
    for (const { watched } of watching) faults.push(...streamFaults(watched, telling))
    for (const { watched, stop } of watching) if (watched.end === 'waiting') void stop()
    await settle(() => watching.every(({ watched }) => watched.end !== 'waiting'))
    for (const { watched } of watching) if (watched.end === 'waiting') faults.push(`${watched.name}: stopping did not end it`)
  }
  if (followed.waitingStreams > 0) faults.push(`${followed.waitingStreams} streams were left waiting`)
  late = false
  await looking
  await followed.close()
  await ledger.close()
  return faults
}

/** What `now` stands for. */
function nowOf(query: QueryName, head: string): string {
  const page = modelOf(head).page(query, subjects.ofAccount.values, { cursor: 'now', limit: 1 })
  if ('code' in page) throw new Error(page.code)
  return page.next
}
