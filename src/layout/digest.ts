/**
 * Digests of ledgers: 32 bytes per ledger, the SHA-256 of its close as `ingest/line.ts` writes it, so that stores can be compared without reading
 * records.
 */
import { digestKey } from './keys.ts'
import { corrupt, SEAL_BYTES, seal, unseal } from './seal.ts'

export const DIGEST_BYTES = 32

/** The sealed value of a ledger's digest. */
export function encodeDigest(ledger: number, digest: Uint8Array): Uint8Array {
  const value = new Uint8Array(DIGEST_BYTES + SEAL_BYTES)
  value.set(digest)
  return seal(digestKey(ledger), value)
}

/** @throws CORRUPT, also if it is missing */
export function decodeDigest(ledger: number, value: Uint8Array | undefined): Uint8Array {
  const key = digestKey(ledger)
  if (value === undefined) throw corrupt(key, `the digest of ledger ${ledger} is missing`)
  const digest = unseal(key, value)
  if (digest.length !== DIGEST_BYTES) throw corrupt(key, 'the digest has another length')
  return digest
}
