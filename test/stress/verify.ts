/**
 * `verify` over random databases: a good one gives no alarm; and if any one value was mutated, cut, deleted, put under another key, exchanged with
 * another, or replaced by an older one of the same key, the report names that key.
 */

import type { Random } from '../../adapters/generate/random.ts'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import type { Entry } from '../../src/index.ts'
import { type Store, verifyStore, type Write } from '../../src/index.ts'
import { databaseOf, everything } from './databases.ts'
import { type Ask, Faults, type Figure, random, type Stress } from './stress.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

interface Damage {
  readonly writes: readonly Write[]
  /** The keys that have to be named. */
  readonly keys: readonly string[]
}

export const kinds: Readonly<Record<string, (random: Random, entries: readonly Entry[]) => Damage>> = {
  mutated(random, entries) {
    const [key, value] = random.pick(entries)
    const changed = Uint8Array.from(value)
    changed[random.below(changed.length)]! ^= 1 << random.below(8)
    return { writes: [[key, changed]], keys: [hex(key)] }
  },
  cut(random, entries) {
    const [key, value] = random.pick(entries)
    return { writes: [[key, value.slice(0, random.below(value.length))]], keys: [hex(key)] }
  },
  deleted(random, entries) {
    const [key] = random.pick(entries)
    return { writes: [[key, undefined]], keys: [hex(key)] }
  },
  duplicated(random, entries) {
    const [from, to] = [random.pick(entries), random.pick(entries)]
    const key = random.chance(0.5) ? Uint8Array.of(...to[0], random.below(256)) : to[0]
    return from === to && key === to[0] ? { writes: [], keys: [] } : { writes: [[key, from[1]]], keys: [hex(key)] }
  },
  swapped(random, entries) {
    const [one, other] = [random.pick(entries), random.pick(entries)]
    if (one === other) return { writes: [], keys: [] }
    return {
      writes: [
        [one[0], other[1]],
        [other[0], one[1]],
      ],
      keys: [hex(one[0]), hex(other[0])],
    }
  },
}

async function entriesOf(store: Store): Promise<Entry[]> {
  return (await store.scan(everything, { limit: 1e6 })).entries
}

/** Bugs for the stress to find: in a store that loses deletes, so that leftovers must be an alarm; and in what is reported. */
const losesDeletes = (store: Store): Store =>
  Object.assign(Object.create(store) as Store, {
    write: (batch: readonly Write[], options: never) =>
      store.write(
        batch.filter(([key, value]) => value !== undefined || key[0] !== 0x30),
        options,
      ),
  })

async function run({ count, seed, plant, say }: Ask): Promise<Figure> {
  const chance = random(seed)
  const faults = new Faults()
  let [damages, values, done] = [0, 0, 0]
  for (; done < count; done++) {
    const { disk } = await databaseOf(chance, plant === 'deletes that are lost' ? losesDeletes : undefined)
    const good = await verifyStore(memory(disk))
    if (!good.ok) faults.add(`database ${done}: a false alarm: ${JSON.stringify(good.faults[0])}`)
    const entries = await entriesOf(memory(disk))
    values += entries.length
    for (const [kind, damage] of Object.entries(kinds)) {
      const { writes, keys } = damage(chance, entries)
      if (keys.length === 0) continue
      const copy = memoryDisk()
      copy.write(entries)
      copy.write(writes)
      const report = await verifyStore(memory(copy))
      const named = report.faults
        .map(({ key }) => key)
        .filter((key) => plant !== 'hash entries that are not looked at' || !key.startsWith('30'))
      // If all records of a list were pruned, only its index can be named.
      const isNamed = (key: string): boolean => named.some((name) => name === key || (name.length === 4 && key.startsWith(name)))
      for (const key of keys) if (!isNamed(key)) faults.add(`database ${done}: ${kind} ${key} is not named, but ${named}`)
      damages++
    }
    if (done % 20 === 19) say?.(`${done + 1} databases`)
  }
  return { done, faults: faults.list, counted: { values, damages } }
}

export const verify: Stress = {
  name: 'verify',
  unit: 'databases',
  full: 1000,
  plants: { 'deletes that are lost': 60, 'hash entries that are not looked at': 60 },
  run,
}
