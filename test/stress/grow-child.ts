/** The process that commits ledgers at a steady pace, and serves them meanwhile; a bug may be planted in what it reads. */
import { type Limits, serve } from '../../adapters/http/index.ts'
import { level } from '../../adapters/level/index.ts'
import { type Ledger, openLedger } from '../../src/index.ts'
import type { RawPage } from '../../src/scan/page.ts'
import { LedPage } from '../support/led.ts'
import { History } from './history.ts'
import { wait } from './stress.ts'

export interface Growth {
  readonly data: string
  readonly ledgers: number
  readonly seed: number
  /** Ledgers that exist from the start. */
  readonly initial: number
  /** Between two commits; they begin when it is told to go. */
  readonly everyMs: number
  readonly limits?: Limits
  readonly plant: string | undefined
}

/** What the parent is told: where it serves, and then each ledger that is committed. */
export type GrowthSaid = { readonly port: number } | { readonly ledger: number; readonly commitMs: number } | { readonly rss: number }

const told = <T>(wanted: (message: T) => boolean): Promise<T> =>
  new Promise((resolve) => {
    const look = (message: unknown): void => {
      if (!wanted(message as T)) return
      process.off('message', look)
      resolve(message as T)
    }
    process.on('message', look)
  })

type Spoil = (page: RawPage, nth: number, head: number) => RawPage

/** The first so many records of a page. */
const cut = ({ records, next, ended }: RawPage, count: number, ends = { next, ended }): RawPage =>
  new LedPage(
    records.slice(0, count).map(({ block, at }) => ({ block, first: at, last: at })),
    ends.next,
    ends.ended,
  )

/** Pages as they must not be. */
export const pagePlants: Readonly<Record<string, Spoil>> = {
  'a page in fifty lacks its last record': (page, nth) => (nth % 50 === 0 ? cut(page, -1) : page),
  'a page in fifty is short': (page, nth) => {
    const last = page.records.at(-2)
    if (nth % 50 > 0 || !last) return page
    return cut(page, -1, { next: last.block.token(last.at), ended: 'end' })
  },
  'the newest ledger is shown by half': (page, _, head) => {
    const half = page.records.filter(({ block, at }) => block.hi(at) < head || block.lo(at) < 1 << 13)
    const last = half.at(-1)
    return half.length === page.records.length || !last ? page : cut(page, half.length, { next: last.block.token(last.at), ended: 'end' })
  },
  'a link in fifty leads nowhere': (page, nth) => (nth % 50 === 0 ? new LedPage(page.slices, 'nowhere', page.ended) : page),
}

/** Plants a bug in what is read of a ledger. */
function spoil(ledger: Ledger, plant: string | undefined): Ledger {
  const spoilt = plant === undefined ? undefined : pagePlants[plant]
  if (!spoilt) return ledger
  const read = ledger.readListing.bind(ledger)
  let nth = 0
  return Object.assign(ledger, {
    readListing: async (...asked: Parameters<typeof read>): Promise<RawPage> => spoilt(await read(...asked), ++nth, ledger.head?.last ?? 0),
  })
}

export async function growChild(): Promise<void> {
  const { data, ledgers, seed, initial, everyMs, limits, plant } = await told<Growth>((said) => typeof said === 'object')
  const say = (said: GrowthSaid): void => void process.send!(said)
  process.on('message', (said) => said === 'memory' && say({ rss: process.memoryUsage().rss }))
  const closes = History.closesOf({ ledgers, seed })
  const ledger = await openLedger(level(data))
  await ledger.ingest(closes.slice(0, initial), { batch: 100 })
  const { port } = await serve(spoil(ledger, plant), { ...limits, port: 0 })
  const go = told((said) => said === 'go')
  say({ port })
  await go
  const started = performance.now()
  for (const [i, close] of closes.slice(initial).entries()) {
    await wait(Math.max(0, started + (i + 1) * everyMs - performance.now()))
    const before = performance.now()
    const { sequence } = await ledger.append(close)
    say({ ledger: sequence, commitMs: performance.now() - before })
  }
}
