/** Hash entries: one varint, twice the ordinal of the transaction, plus one if it lies in the log of failed ones. */
import { VarintReader, Writer } from '../bytes.ts'
import { corrupt, leaveRoom, seal, unseal } from './seal.ts'

export interface HashEntry {
  readonly ordinal: number
  readonly failed: boolean
}

export function encodeHash(key: Uint8Array, { ordinal, failed }: HashEntry): Uint8Array {
  const out = new Writer(16)
  out.varint(2 * ordinal + (failed ? 1 : 0))
  leaveRoom(out)
  return seal(key, out.finish())
}

/** @throws CORRUPT */
export function decodeHash(key: Uint8Array, value: Uint8Array): HashEntry {
  const payload = unseal(key, value)
  const input = new VarintReader(payload)
  const entry = input.next()
  if (Number.isNaN(entry) || input.at !== payload.length) throw corrupt(key, 'the hash entry has another length')
  return { ordinal: Math.floor(entry / 2), failed: entry % 2 === 1 }
}
