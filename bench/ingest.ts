/**
 * Ledger after ledger: each durable by itself, on top of all of history, as a service does it, and into empty stores; and such as hold next to nothing.
 */
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { DataSet } from './dataset.ts'
import { decided, inTurns, type Row, type Run, spread, timed } from './measure.ts'
import type { Pace } from './pages.ts'
import { peers } from './peers/index.ts'
import { ourWorker, type Worker, worker } from './results.ts'

/** Untimed runs of ingest at the start: for the first thousand ledgers, much of the code is not compiled yet. */
const WARM_RUNS = { full: 10, quick: 3 }

export async function ingestRows(folder: string, data: DataSet, quick: boolean, pace: Pace, done: (row: Row) => void): Promise<void> {
  const at = join(folder, `ingest-${process.pid}`)
  mkdirSync(at)
  const { kind, place } = data.peer
  const copies = [join(at, 'level'), join(at, kind)] as const
  cpSync(data.level, copies[0], { recursive: true })
  cpSync(place, copies[1], { recursive: true })
  const into = (stores: Stores, works: readonly Ingest[]): Promise<void> => ingestInto(stores, data, quick, pace, done, works)
  await into({ places: copies, held: data.counts.ledgers }, [
    ['ingest alone', 'ingest, durable a ledger', 2.5],
    ['append', 'append, one awaited after another'],
  ])
  await into({ places: [join(at, 'empty level'), join(at, `empty ${kind}`)] }, [['ingest alone', 'ingest into empty stores']])
  await into({ places: [join(at, 'sparse level'), join(at, `sparse ${kind}`)], sparse: true }, [
    ['ingest alone', 'ingest of sparse ledgers, durable a ledger'],
    ['ingest', 'ingest of sparse ledgers, as they come'],
  ])
  rmSync(at, { recursive: true })
}

type Ingest = readonly [how: 'append' | 'ingest' | 'ingest alone', work: string, floor?: number]

interface Stores {
  readonly places: readonly [level: string, other: string]
  /** How many ledgers they hold already. */
  readonly held?: number
  /** Of a network whose ledgers have one transaction. */
  readonly sparse?: boolean
}

async function ingestInto(
  { places: [level, other], held = 0, sparse = false }: Stores,
  data: DataSet,
  quick: boolean,
  pace: Pace,
  done: (row: Row) => void,
  works: readonly Ingest[],
): Promise<void> {
  const { kind } = data.peer
  const sides = [ourWorker(data, level), worker(kind, other, { mode: 'write' })] as const
  await Promise.all(sides.map((side) => side.call('skip', quick, held, sparse)))
  const each = (quick ? 30 : 100) * (sparse ? 5 : 1)
  const persecond = (micros: number): number => Math.round(1e6 / micros)
  const append = (side: Worker, how: Ingest[0]) => async (): Promise<Run> => {
    await side.call('makeReady', quick, each)
    return side.call('appendReady', how)
  }
  for (let i = quick ? WARM_RUNS.quick : WARM_RUNS.full; i > 0; i--) for (const side of sides) await append(side, works[0]![0])()
  const { durable: peer, hasFloors } = peers[kind]
  for (const [how, work, floor] of works) {
    const wanted = hasFloors ? floor : undefined
    const [left, right] = await decided(pace.rounds, wanted, (rounds) => inTurns(rounds, append(sides[0], how), append(sides[1], how)))
    const named = { suite: 'ingest', work, group: 'ingest', peer, ...(wanted !== undefined && { floor: wanted }) } as const
    const row = timed(named, left, right)
    done({ ...row, more: { 'our ledgers/s': persecond(row.ours.median), 'peer ledgers/s': persecond(row.theirs.median) } })
    if (how === 'append') done(longestRow(each, peer, left, right))
  }
  for (const side of sides) await side.end()
}

/** The longest append of each run, since anything that waits for the event loop waits as long. */
function longestRow(each: number, peer: string, left: readonly Run[], right: readonly Run[]): Row {
  const [ours, theirs] = [left, right].map((runs) => runs.map(({ longestMs = 0 }) => longestMs)) as [number[], number[]]
  const ratio = spread(ours.map((ms, i) => ms / theirs[i]!))
  const named = {
    suite: 'ingest',
    work: `longest append of ${each}`,
    group: 'ingest',
    unit: 'ms',
    peer,
    sense: 'below',
  } as const
  return { ...named, ours: spread(ours), theirs: spread(theirs), ratio }
}
