/** Whether answers are of the kind that the contract names. */
import type { Chunk, Snapshot } from '../../src/store.ts'

export function checkValue(call: () => string, value: unknown): void {
  if (value !== undefined && !(value instanceof Uint8Array)) wrong(call, 'a Uint8Array, or undefined where nothing is', value)
}

export function checkChunk(call: () => string, chunk: Chunk): void {
  if (!Array.isArray(chunk?.entries) || typeof chunk.more !== 'boolean') wrong(call, '{ entries: [], more: true or false }', chunk)
  for (const entry of chunk.entries) {
    if (!Array.isArray(entry)) wrong(call, 'entries that are arrays of key and value', entry)
    for (const bytes of [entry[0], entry[1]]) if (!(bytes instanceof Uint8Array)) wrong(call, 'keys and values that are Uint8Arrays', bytes)
  }
}

export function checkSnapshot(call: () => string, snapshot: Partial<Snapshot> | undefined): void {
  if (typeof snapshot?.scan !== 'function' || typeof snapshot.close !== 'function') wrong(call, '{ scan, close }', snapshot)
}

export function wrong(call: () => string, expected: string, came: unknown): never {
  throw new Error(`${call()}: expected ${expected}; got ${kindOf(came)}`)
}

export const kindOf = (value: unknown): string => {
  if (Array.isArray(value)) return 'an array'
  if (typeof value !== 'object' || value === null) return value === undefined || value === null ? String(value) : `a ${typeof value}`
  return `an object of class ${Object.getPrototypeOf(value)?.constructor?.name ?? 'none'}`
}
