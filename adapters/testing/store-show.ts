/** Bytes, and lists of them, as messages show them. */
import { crc32, hex } from '../../src/bytes.ts'

export function show(value: unknown): string {
  if (value instanceof Uint8Array)
    return value.length > 500 ? `<${hex(value.subarray(0, 8))}… ${value.length} bytes, CRC ${crc32(value)}>` : `<${hex(value)}>`
  return Array.isArray(value) ? `[${value.map(show).join(' ')}]` : String(value)
}

const SHOWN = 8

/** The first items of a list, and how many there are. */
export const showMany = (list: readonly unknown[]): string =>
  list.length > SHOWN ? `${show(list.slice(0, SHOWN)).slice(0, -1)} … ${list.length} in all]` : show(list)
