/** Bytes, and lists of them, as messages show them. */
import { crc32, hex } from '../../src/bytes.ts'

/** As hexadecimal digits. A byte that is repeated is counted, or the bounds and prefixes of which many keys are made would hide what differs. */
const digits = (bytes: Uint8Array): string =>
  hex(bytes)
    .replace(/(..)\1{7,}|../g, (pairs, byte) => (byte === undefined ? pairs : ` ${byte}×${pairs.length / 2} `))
    .replaceAll('  ', ' ')
    .trim()

export function show(value: unknown): string {
  if (value instanceof Uint8Array)
    return value.length > 500 ? `<${hex(value.subarray(0, 8))}… ${value.length} bytes, CRC ${crc32(value)}>` : `<${digits(value)}>`
  return Array.isArray(value) ? `[${value.map(show).join(' ')}]` : String(value)
}

const SHOWN = 8

/** The first items of a list, and how many there are. */
export const showMany = (list: readonly unknown[]): string =>
  list.length > SHOWN ? `${show(list.slice(0, SHOWN)).slice(0, -1)} … ${list.length} in all]` : show(list)

/** The bytes of a case that a property tried, as messages show them. */
export const showCase = (told: string): string =>
  told.replace(/Uint8Array\.from\(\[([\d,]*)\]\)/g, (_, list: string) => show(Uint8Array.from(list === '' ? [] : list.split(','), Number)))
