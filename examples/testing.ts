import { checkScan, type Entry, FolioError, type Store, same } from 'ledger-folio'
import { storeConformance } from 'ledger-folio/testing'

/** A store over a Map with hexadecimal keys, which sort like bytes. One fault is planted in it. */
function toy(): Store {
  const held = new Map<string, Uint8Array>()
  let closed = false
  const hex = (key: Uint8Array): string => Buffer.from(key).toString('hex')
  const checkOpen = (): unknown => closed && fail('CLOSED')
  // Not by `slice`, which shares the memory of a Buffer.
  const copy = (value: Uint8Array): Uint8Array => new Uint8Array(value)
  const get = (key: Uint8Array): Uint8Array | undefined => {
    checkOpen()
    const value = held.get(hex(key))
    return value && copy(value)
  }
  return {
    capabilities: { name: 'toy', sync: true, persistent: false, shared: false },
    get,
    getMany(keys) {
      checkOpen()
      return keys.map(get)
    },
    scan(range, { limit, reverse = false }) {
      checkOpen()
      checkScan(range, { limit })
      const [gte, lt] = [hex(range.gte), hex(range.lt)]
      const keys = [...held.keys()].filter((key) => key >= gte && key <= lt).sort()
      const found = (reverse ? keys.reverse() : keys).map((key): Entry => [Buffer.from(key, 'hex'), copy(held.get(key)!)])
      return { entries: found.slice(0, limit), more: found.length > limit }
    },
    write(batch, { expect }) {
      checkOpen()
      if (expect && !same(get(expect.key), expect.value)) fail('CONFLICT')
      for (const [key, value] of batch) value ? held.set(hex(key), copy(value)) : held.delete(hex(key))
    },
    close() {
      closed = true
    },
  }
}
const fail = (code: 'CLOSED' | 'CONFLICT'): never => {
  throw new FolioError(code)
}

const laws = storeConformance({ open: toy, declined: { 'a scan stops before maxBytes': 'a toy counts no bytes' } })
for (const { name, skip, run } of laws)
  if (skip === undefined) await run().catch(({ message }: Error) => console.log(`Broken: ${name}\n${message}\n`))
