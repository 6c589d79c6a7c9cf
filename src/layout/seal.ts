/**
 * Sealed values: every stored value ends in a format byte and a CRC-32 over its key, its payload and that byte, little-endian.
 * So a value that was damaged, cut, or is read under a key other than its own is never mistaken for data.
 * **Invariant:** what the codecs of this folder give and take is sealed: `encodeX(key, …)` gives the value to store, and `decodeX(key, value)` checks
 * the seal of what was stored. Where one key, or the ledger, is all there is to name, they know the key. Payloads are seen in this folder alone.
 */
import { crc32, hex, i32, portableCrc32, type Writer } from '../bytes.ts'
import { FolioError, hasCode } from '../errors.ts'

/** The version of every byte layout in this folder. Any change to them raises it. */
export const FORMAT_VERSION = 2
export const SEAL_BYTES = 5

/** Leaves room for the seal behind a payload. */
export function leaveRoom(out: Writer): void {
  out.reserve(SEAL_BYTES)
  out.length += SEAL_BYTES
}

/** The format version that a sealed value carries. */
export const formatOf = (value: Uint8Array): number | undefined => value.at(-SEAL_BYTES)

/** Writes the seal into the last {@link SEAL_BYTES} bytes of `value`, which holds the payload before them, and returns it. */
export function seal(key: Uint8Array, value: Uint8Array): Uint8Array {
  const end = value.length - 4
  value[end - 1] = FORMAT_VERSION
  const sum = crc32(value.subarray(0, end), keySum(key))
  value[end] = sum & 255
  value[end + 1] = (sum >>> 8) & 255
  value[end + 2] = (sum >>> 16) & 255
  value[end + 3] = sum >>> 24
  return value
}

/** What precedes the seal, unchecked. */
export const payloadOf = (value: Uint8Array): Uint8Array => value.subarray(0, value.length - SEAL_BYTES)

export const corrupt = (key: Uint8Array, reason: string): FolioError => new FolioError('CORRUPT', { key: hex(key), reason })

/** Whether a read failed because of what is stored, and so would fail again. */
export const isDamage = (error: unknown): error is FolioError => hasCode(error, 'CORRUPT')

/** The checksum that a sealed value carries, as a signed number: those are stored inline in objects, whereas larger ones are boxed. */
export const sumOf = (value: Uint8Array): number => i32(value, value.length - 4)

const keySum = (key: Uint8Array): number => (key.length <= 16 ? portableCrc32(key) : crc32(key))

/** The payload of a sealed value. @throws CORRUPT, naming the key */
export function unseal(key: Uint8Array, value: Uint8Array): Uint8Array {
  const end = value.length - 4
  if (end < 1) throw corrupt(key, 'the value is too short')
  // One view serves as the payload and for the checksum, which continues over the format byte: a view costs as much as a short read.
  const payload = new Uint8Array(value.buffer, value.byteOffset, end - 1)
  if ((portableCrc32(value, crc32(payload, keySum(key)), end - 1, end) | 0) !== sumOf(value))
    throw corrupt(key, 'the checksum does not match')
  if (value[end - 1] !== FORMAT_VERSION) throw new FolioError('STORE_FORMAT', { found: value[end - 1], expected: FORMAT_VERSION })
  return payload
}

/** Stands in place of a value that may be incomplete: without a seal, it is damaged for every reader. */
export const unsealed = new Uint8Array(0)

/** @throws CORRUPT, naming the key */
export function checkSeal(key: Uint8Array, value: Uint8Array): void {
  unseal(key, value)
}

/** Whether this release sealed a value under a key, and it is as it was. */
export function isSealed(key: Uint8Array, value: Uint8Array): boolean {
  try {
    unseal(key, value)
    return true
  } catch {
    return false
  }
}
