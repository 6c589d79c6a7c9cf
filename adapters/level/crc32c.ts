/** CRC-32C (Castagnoli), the checksum of LevelDB's files, eight bytes per step; and the form in which LevelDB stores it. */

const tables = Array.from({ length: 8 }, () => new Int32Array(256))
for (let byte = 0; byte < 256; byte++) {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1
  tables[0]![byte] = value
}
for (let byte = 0; byte < 256; byte++)
  for (let n = 1; n < 8; n++) tables[n]![byte] = (tables[n - 1]![byte]! >>> 8) ^ tables[0]![tables[n - 1]![byte]! & 255]!
const [t0, t1, t2, t3, t4, t5, t6, t7] = tables

export function crc32c(bytes: Uint8Array, from = 0, to = bytes.length): number {
  let crc = -1
  let at = from
  for (; at + 8 <= to; at += 8) {
    const low = crc ^ (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24))
    crc =
      t7![low & 255]! ^
      t6![(low >>> 8) & 255]! ^
      t5![(low >>> 16) & 255]! ^
      t4![low >>> 24]! ^
      t3![bytes[at + 4]!]! ^
      t2![bytes[at + 5]!]! ^
      t1![bytes[at + 6]!]! ^
      t0![bytes[at + 7]!]!
  }
  for (; at < to; at++) crc = (crc >>> 8) ^ t0![(crc ^ bytes[at]!) & 255]!
  return ~crc >>> 0
}

/** One byte more: `step(step(-1, a), b)`, inverted, is the checksum of a and b. */
export const step = (crc: number, byte: number): number => (crc >>> 8) ^ t0![(crc ^ byte) & 255]!

/** LevelDB stores checksums rotated and offset, since data may itself hold checksums. */
export const masked = (crc: number): number => (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
