import { checkScan, type Entry, FolioError, type Store } from 'ledger-folio'
import { storeConformance } from 'ledger-folio/testing'

/** A store over a Map with hexadecimal keys, which sort like bytes. One fault is planted in it. */
function toy(): Store {
  const held = new Map<string, Uint8Array>()
  let closed = false
  const hex = (key: Uint8Array): string => (closed ? fail('CLOSED') : Buffer.from(key).toString('hex'))
  const get = (key: Uint8Array): Uint8Array | undefined => held.get(hex(key))?.slice()
  return {
    capabilities: { name: 'toy', sync: true, persistent: false, shared: false },
    get,
    getMany: (keys) => keys.map(get),
    scan(range, { limit, reverse = false }) {
      checkScan(range, { limit })
      const keys = [...held.keys()].filter((key) => key >= hex(range.gte) && key <= hex(range.lt)).sort()
      const found = (reverse ? keys.reverse() : keys).map((key): Entry => [Buffer.from(key, 'hex'), held.get(key)!.slice()])
      return { entries: found.slice(0, limit), more: found.length > limit }
    },
    write(batch, { expect }) {
      if (expect && String(get(expect.key)) !== String(expect.value)) fail('CONFLICT')
      for (const [key, value] of batch) value ? held.set(hex(key), value.slice()) : held.delete(hex(key))
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
