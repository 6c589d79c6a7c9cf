/** Stores that keep older versions of what is written for as long as a snapshot shows them, and drop one too early, or stumble over them. */
import { hex, same } from '../../src/bytes.ts'
import { FolioError } from '../../src/errors.ts'
import { type Chunk, checkScan, type Entry, type KeyRange, type ScanOptions, type Snapshot, type Store } from '../../src/store.ts'
import type { FaultyStore } from './faulty-store.ts'

interface Version {
  /** The number of the write that it is of. */
  readonly at: number
  readonly value: Uint8Array | undefined
}

interface Rules {
  /** Of the states that open snapshots show, oldest first, the one up to which older versions are dropped. */
  readonly floor: (shown: readonly number[]) => number
  /** The states that are still shown once a snapshot of one is closed. */
  readonly left: (shown: readonly number[], closed: number) => number[]
  /** Whether a version that lies under others is kept. */
  readonly keeps: (version: Version) => boolean
  /** After how many keys in a row that show nothing a scan ends. */
  readonly run: number
}

const RIGHT: Rules = {
  floor: ([oldest]) => oldest!,
  left: (shown, closed) => shown.toSpliced(shown.indexOf(closed), 1),
  keeps: () => true,
  run: Number.POSITIVE_INFINITY,
}

/** A correct store in memory that holds the versions of each key, newest first; `change` plants a fault. */
export function versioned(change: Partial<Rules> = {}): Store {
  const rules = { ...RIGHT, ...change }
  const held = new Map<string, readonly Version[]>()
  let sorted: string[] | undefined
  let [now, closed] = [0, false]
  let shown: number[] = []
  const checkOpen = (): void => {
    if (closed) throw new FolioError('CLOSED')
  }
  const valueAt = (name: string, time: number): Uint8Array | undefined => {
    const value = held.get(name)?.find(({ at }) => at <= time)?.value
    return value && new Uint8Array(value)
  }
  const get = (key: Uint8Array): Uint8Array | undefined => {
    checkOpen()
    return valueAt(hex(key), now)
  }
  const collect = (name: string): void => {
    const versions = held.get(name)!
    const floor = shown.length > 0 ? rules.floor(shown) : now
    const last = versions.findIndex(({ at }) => at <= floor)
    const left = versions.slice(0, last < 0 ? versions.length : last + 1).filter((version, n) => n === 0 || rules.keeps(version))
    if (left.length > 1 || left[0]!.value || left[0]!.at > floor) held.set(name, left)
    else {
      held.delete(name)
      sorted = undefined
    }
  }
  const scanAt = (time: number, range: KeyRange, { limit, maxBytes = Number.POSITIVE_INFINITY, reverse }: ScanOptions): Chunk => {
    sorted ??= [...held.keys()].sort()
    const [gte, lt] = [hex(range.gte), hex(range.lt)]
    const inside = sorted.filter((name) => name >= gte && name < lt)
    const entries: Entry[] = []
    let [size, run] = [0, 0]
    for (const name of reverse ? inside.reverse() : inside) {
      const value = valueAt(name, time)
      if (!value && ++run === rules.run) break
      if (!value) continue
      run = 0
      size += name.length / 2 + value.length
      if (entries.length === limit || (entries.length > 0 && size > maxBytes)) return { entries, more: true }
      entries.push([new Uint8Array(Buffer.from(name, 'hex')), value])
    }
    return { entries, more: false }
  }
  return {
    capabilities: { name: 'versions', sync: true, persistent: false, shared: false },
    get,
    getMany(keys) {
      checkOpen()
      return keys.map(get)
    },
    scan(range, options) {
      checkOpen()
      checkScan(range, options)
      return scanAt(now, range, options)
    },
    write(batch, { expect }) {
      checkOpen()
      if (expect && !same(get(expect.key), expect.value)) throw new FolioError('CONFLICT')
      now++
      const last = new Map(batch.map(([key, value]) => [hex(key), value && new Uint8Array(value)]))
      for (const [name, value] of last) {
        if (!held.has(name)) sorted = undefined
        held.set(name, [{ at: now, value }, ...(held.get(name) ?? [])])
        collect(name)
      }
    },
    compact() {
      checkOpen()
      for (const name of [...held.keys()]) collect(name)
    },
    snapshot(): Snapshot {
      checkOpen()
      const time = now
      let isClosed = false
      shown.push(time)
      return {
        scan(range, options) {
          checkOpen()
          if (isClosed) throw new FolioError('CLOSED')
          checkScan(range, options)
          return scanAt(time, range, options)
        },
        close() {
          if (!isClosed) shown = rules.left(shown, time)
          isClosed = true
        },
      }
    },
    close() {
      closed = true
    },
  }
}

const SHOWS = 'a snapshot shows what'

export const storesOfVersions: readonly FaultyStore[] = [
  [SHOWS, 'drops what lies before the newest snapshot, not the oldest', () => versioned({ floor: (shown) => shown.at(-1)! })],
  [
    SHOWS,
    'drops with a snapshot what another one of the same state shows',
    () => versioned({ left: (shown, closed) => shown.filter((time) => time !== closed) }),
  ],
  [SHOWS, 'drops the oldest snapshot with any that is closed', () => versioned({ left: (shown) => shown.slice(1) })],
  [
    SHOWS,
    'forgets deletes that were followed by a put',
    () => versioned({ keeps: ({ value }) => value !== undefined }),
    /^one snapshot taken after 2 writes, .*: expected .*\nentry 9: expected <6b0000013e> <003e>, got <6b00000009> <0009>$/,
  ],
  [
    SHOWS,
    'ends a scan at 64 deleted keys in a row while a snapshot shows them',
    () => versioned({ run: 64 }),
    /^one snapshot taken after 1 writes, read in chunks, .*, with none closed: expected .*\nentry 159: expected <6b00000135> <0035>, got no more$/,
  ],
]
