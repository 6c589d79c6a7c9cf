/**
 * Pruning past whoever goes through a listing in steps: records may be gone then that were not delivered, and nothing tells whether there were any.
 * So what goes on from there ends with an error instead of a silent gap. A cursor that lay below history from the start is another matter: it is
 * legal, and history begins later.
 */
import { FolioError } from '../errors.ts'
import type { Head } from '../layout/head.ts'
import { parseCursor } from '../position.ts'
import type { Resource } from '../query.ts'
import { ledgers } from '../resources/ledger.ts'

/** The newest ledger of which nothing lies after a cursor, as far as that tells; pruning takes away only what is in logs. */
export function throughOf(resource: Resource, cursor: string): number {
  if (resource.kept !== 'log') return Number.POSITIVE_INFINITY
  if (cursor === '') return 0
  const { hi } = parseCursor(cursor, resource.indexed)
  return resource === ledgers ? hi : hi - 1
}

/**
 * The error, if ledgers were pruned that a reader had not been given.
 * @param since the oldest ledger held when it began, or when this was last asked; 0 if there was none, and the first one is among what it waits for
 * @param through the newest ledger of which nothing lies after its cursor
 */
export function missedBy({ first, oldest }: Head, since: number, through: number, cursor: string): FolioError | undefined {
  if (oldest <= (since || first) || through >= oldest - 1) return undefined
  const reason = 'ledgers were pruned that had not been delivered; what is left begins at the oldest one'
  return new FolioError('GONE_BEFORE_HISTORY', { cursor, oldest, reason })
}
