/** The process that commits ledgers at a steady pace, and serves them meanwhile; a bug may be planted in what it reads. */
import { serve } from '../../adapters/http/index.ts'
import { level } from '../../adapters/level/index.ts'
import { type Ledger, openLedger, type RawPage } from '../../src/index.ts'
import { History } from './history.ts'
import { wait } from './stress.ts'

export interface Growth {
  readonly data: string
  readonly ledgers: number
  readonly seed: number
  /** Between two commits. */
  readonly everyMs: number
  readonly plant: string | undefined
}

/** What the parent is told: where it serves, and then each ledger that is committed. */
export type GrowthSaid = { readonly port: number } | { readonly ledger: number; readonly commitMs: number }

type Spoil = (page: RawPage, nth: number, head: number) => RawPage

/** Pages as they must not be. */
export const pagePlants: Readonly<Record<string, Spoil>> = {
  'a page in fifty lacks its last record': (page, nth) => (nth % 50 === 0 ? { ...page, records: page.records.slice(0, -1) } : page),
  'a page in fifty is short': (page, nth) => {
    const last = page.records.at(-2)
    if (nth % 50 > 0 || !last) return page
    return { ...page, records: page.records.slice(0, -1), next: last.block.token(last.at), ended: 'end' }
  },
  'the newest ledger is shown by half': (page, _, head) => {
    const half = page.records.filter(({ block, at }) => block.hi(at) < head || block.lo(at) < 1 << 13)
    const last = half.at(-1)
    return half.length === page.records.length || !last ? page : { ...page, records: half, next: last.block.token(last.at), ended: 'end' }
  },
  'a link in fifty leads nowhere': (page, nth) => (nth % 50 === 0 ? { ...page, next: 'nowhere' } : page),
}

function spoilt(ledger: Ledger, plant: string | undefined): Ledger {
  if (plant === undefined) return ledger
  let nth = 0
  const read = async (...asked: Parameters<Ledger['read']>): Promise<RawPage> =>
    pagePlants[plant]!(await ledger.read(...asked), ++nth, ledger.head?.last ?? 0)
  return Object.assign(Object.create(ledger) as Ledger, { read })
}

export async function growChild(): Promise<void> {
  const { data, ledgers, seed, everyMs, plant } = await new Promise<Growth>((resolve) =>
    process.once('message', (said) => resolve(said as Growth)),
  )
  const closes = History.closesOf({ ledgers, seed })
  const ledger = await openLedger(level(data))
  await ledger.append(closes[0]!)
  const { port } = await serve(spoilt(ledger, plant), { port: 0 })
  const say = (said: GrowthSaid): void => void process.send!(said)
  say({ port })
  const started = performance.now()
  for (const [i, close] of closes.slice(1).entries()) {
    await wait(Math.max(0, started + (i + 1) * everyMs - performance.now()))
    const before = performance.now()
    const { sequence } = await ledger.append(close)
    say({ ledger: sequence, commitMs: performance.now() - before })
  }
}
