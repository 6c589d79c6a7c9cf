/**
 * The newest ledger, checked at every open: all of it is held, as it was appended. Of earlier ledgers, a read checks what it touches, and `verify`
 * everything.
 */
import { equal } from '../bytes.ts'
import { decodeDigest } from '../layout/digest.ts'
import { digestKey, HEAD } from '../layout/keys.ts'
import { corrupt } from '../layout/seal.ts'
import { ledgerAt } from '../scan/locate.ts'
import type { Reader } from '../scan/reader.ts'
import type { Store } from '../store.ts'
import type { Damage } from './damage.ts'
import { digestOf, storedRows } from './line.ts'

/** @param damage what keeps the ledger from being read is put there @throws CORRUPT if it was read, and is not what it was */
export async function checkNewest(store: Store, reader: Reader, damage: Damage): Promise<void> {
  const { last, oldest, hash } = reader.head
  if (last === 0) return
  const held = await damage.around(() =>
    reader.run((read) => {
      const record = (sequence: number) => {
        const { block, at } = ledgerAt(read, sequence)
        return block.members(at)
      }
      return { found: digestOf(storedRows(read, last)), row: record(last), before: last > oldest ? record(last - 1) : undefined }
    }),
  )
  if (!held) return
  const key = digestKey(last)
  const kept = decodeDigest(last, await store.get(key))
  const { found, row, before } = held
  if (row['sequence'] !== last || !equal(kept, found)) throw corrupt(key, `the newest ledger, ${last}, is not as it was appended`)
  if (row['hash'] !== hash) throw corrupt(HEAD, 'the head names another ledger as the newest')
  if (before && before['hash'] !== row['prev_hash']) throw corrupt(key, `the newest ledger, ${last}, does not follow the one before`)
}
