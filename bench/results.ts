/**
 * The results that a run writes, and how its processes are started.
 */
import type { DataSet } from './dataset.ts'
import type { PeerKind } from './flags.ts'
import type { Row } from './measure.ts'
import type { Pace } from './pages.ts'
import { TRANSACTION } from './peers/bare-http.ts'
import { Remote } from './process.ts'
import type { Kind, Settings, WorkerFunctions } from './worker.ts'

export interface Results {
  readonly mode: 'quick' | 'full'
  readonly against: PeerKind
  readonly machine: Readonly<Record<string, string | number>>
  readonly data: DataSet['counts']
  readonly cacheMib?: number | undefined
  readonly memoryMib?: number | undefined
  readonly pace: Pace
  readonly seconds: number
  readonly rows: readonly Row[]
}

export type Worker = Remote<WorkerFunctions>

/**
 * A process that holds one contender.
 * @param path where its data lies; for the bare server, how many bytes its bodies come from
 */
export const worker = (kind: Kind, path: string, settings: Settings = {}): Worker =>
  new Remote('worker.js', [kind, path, JSON.stringify(settings)])

/** A process that holds ours, with the memory that the run gives it. */
export const ourWorker = ({ level, cacheMib, memoryMib }: DataSet, path = level): Worker => worker('folio', path, { cacheMib, memoryMib })

/** A process that holds what ours is measured against, likewise. */
export const theirWorker = ({ peer, memoryMib }: DataSet): Worker => worker(peer.kind, peer.place, { memoryMib })

/** A bare server whose bodies come from as much memory as all transactions take. */
export const bareWorker = ({ counts }: DataSet): Worker => worker('bare', String(TRANSACTION * counts.transactions))
