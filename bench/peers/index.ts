/**
 * What ours is measured against: a row for each database. `--against` names one.
 */
import type { PeerKind } from '../flags.ts'
import { Postgres } from './postgres.ts'
import { postgresMissing } from './postgres-server.ts'
import type { Mode, SqlContender } from './sql.ts'
import { Sqlite } from './sqlite.ts'

interface Peer {
  readonly name: string
  /** What its rows of ingest say. */
  readonly durable: string
  /** Those that the project has set itself are ratios to this one. */
  readonly hasFloors: boolean
  /** The files that what it stores depends on. */
  readonly sources: readonly string[]
  /** @param place a file or a directory, made if there is none */
  readonly open: (place: string, mode: Mode) => SqlContender | Promise<SqlContender>
  /** Why it cannot be measured here. */
  readonly missing?: () => string | undefined
}

const WIRE = 'bench/wire.ts'

export const peers: Readonly<Record<PeerKind, Peer>> = {
  sqlite: {
    ...{ name: 'SQLite', durable: 'SQLite, WAL, FULL', hasFloors: true, sources: [WIRE, 'bench/peers/sqlite.ts'] },
    open: (place, mode) => {
      const confined = mode === 'confined'
      return new Sqlite(place, { readonly: mode === 'read' || confined, synchronous: mode === 'load' ? 'OFF' : 'FULL', confined })
    },
  },
  postgres: {
    ...{ name: 'PostgreSQL', durable: 'PostgreSQL, synchronous_commit', hasFloors: false, sources: [WIRE, 'bench/peers/postgres.ts'] },
    open: (place, mode) => Postgres.open(place, mode),
    missing: postgresMissing,
  },
}
