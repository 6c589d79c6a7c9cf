/**
 * Loss of power during ingest: the process is ended, and what the store had not synced by then is taken off its files. The files of LevelDB only
 * grow: their ends are dropped, torn, or zeros. LMDB writes in place: any sectors are as they were before.
 * The model is that of a journaling file system: creating, renaming and deleting happen in order, and only synced bytes are sure to be there.
 * A library that is preloaded into the process (`power.c`, compiled here) writes down what was written and synced.
 */
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, rmSync, statSync, truncateSync, unlinkSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { History } from './history.ts'
import { checkSaid, inspect, killed } from './kill.ts'
import { type Chance, type Entry, loosenPages, readJournal } from './power-journal.ts'
import { preloaded } from './preload.ts'
import { type Ask, Faults, type Figure, random, type Stress } from './stress.ts'

/** The sizes of the files below a folder, by inode. */
const sizes = (folder: string): Map<string, number> =>
  new Map(
    existsSync(folder)
      ? readdirSync(folder).map((name) => {
          const { ino, size } = statSync(join(folder, name), { bigint: true })
          return [String(ino), Number(size)]
        })
      : [],
  )

/** How many bytes of each file are on disk: what was there before, and what was synced since. */
function onDisk(before: Map<string, number>, entries: readonly Entry[]): Map<string, number> {
  const sure = new Map(before)
  for (const entry of entries) {
    const { what, inode } = entry
    if (what === 'C') sure.delete(inode)
    if (what === 'N') sure.set(inode, sure.get(inode) ?? 0)
    // Two syncs may be written down in the other order.
    if (what === 'S') sure.set(inode, Math.max(sure.get(inode) ?? 0, entry.size))
  }
  return sure
}

/** Takes away what is not sure to be there. Returns the number of bytes. */
function cutPower(folder: string, sure: Map<string, number>, chance: Chance): number {
  let lost = 0
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const path = join(folder, name)
    const { ino, size } = statSync(path, { bigint: true })
    const synced = sure.get(String(ino))
    const loose = Number(size) - (synced ?? 0)
    if (synced === undefined && chance.chance(0.3)) unlinkSync(path)
    else if (loose > 0) loosen(path, synced ?? 0, loose, waysOf(name), chance)
    lost += Math.max(0, loose)
  }
  return lost
}

/** LevelDB takes zeros at the end of its MANIFEST for damage and does not open (a typed error, and nothing is lost); see README.md here. */
const waysOf = (name: string): readonly ('drop' | 'tear' | 'zero')[] =>
  name.startsWith('MANIFEST') ? ['drop', 'tear'] : ['drop', 'tear', 'zero']

function loosen(path: string, synced: number, loose: number, ways: ReturnType<typeof waysOf>, chance: Chance): void {
  const way = chance.pick(ways)
  if (way !== 'zero') {
    truncateSync(path, synced + (way === 'tear' ? chance.below(loose) : 0))
    return
  }
  // The size reached the disk, and none of the bytes, or only the first of them.
  const kept = chance.below(loose)
  const file = openSync(path, 'r+')
  writeSync(file, new Uint8Array(loose - kept), 0, loose - kept, synced + kept)
  closeSync(file)
}

/** How many cuts a store goes through; the first one is likely to cut its creation short. */
const CUTS_A_STORE = [1, 1, 15]

/** A plant of the library, not of the store. LevelDB is tried with plants of its own. */
const LIES = 'the disk says that it has synced, and has not'

async function run({ count, seed, plant, say }: Ask): Promise<Figure> {
  const made = preloaded('power')
  const counted = { acknowledged: 0, 'bytes lost': 0, stores: 0 }
  if ('reason' in made) return { done: 0, faults: [], counted, skipped: made.reason }
  const chance = random(`power ${seed}`)
  const history = await History.of({ ledgers: 400, seed })
  const faults = new Faults()
  let done = 0
  while (done < count) {
    const folder = mkdtempSync(join(tmpdir(), 'folio-power-'))
    const data = join(folder, 'data')
    const journal = join(folder, 'journal')
    const kind = counted.stores++ % 2 === 0 && plant !== LIES ? 'level' : 'lmdb'
    const cuts = plant === undefined ? chance.pick(CUTS_A_STORE) : 15
    let held = history.first - 1
    for (let i = 0; i < cuts && done < count && held >= history.first - 1 && held < history.last - 60; i++) {
      // The first syncs are those of creating a store.
      const nth = chance.pick([1, -1]) * (1 + chance.below(chance.pick([5, 40])))
      const [cut, afterLines] = chance.chance(0.7) ? [nth, 60] : [0, 1 + chance.below(30)]
      const batch = chance.pick([1, undefined, 3, 10])
      const writeBufferBytes = chance.pick([undefined, 64 << 10])
      const env = {
        ...{ LD_PRELOAD: made.library, FOLIO_POWER_FOLDER: data, FOLIO_POWER_JOURNAL: journal, FOLIO_POWER_CUT: String(cut) },
        ...(kind === 'lmdb' && { FOLIO_POWER_WRITES: '1' }),
        ...(plant === LIES && { FOLIO_POWER_LIES: '1' }),
      }
      const before = sizes(data)
      const attempt = { kind, data, from: held + 1, batch, writeBufferBytes, afterLines, ms: chance.below(3) } as const
      const said = await killed(history, { ...attempt, plant: plant === LIES ? undefined : plant }, env)
      const entries = readJournal(journal)
      counted['bytes lost'] += kind === 'lmdb' ? loosenPages(data, entries, chance) : cutPower(data, onDisk(before, entries), chance)
      rmSync(journal, { force: true })
      faults.add(...checkSaid(said, held + 1))
      counted.acknowledged += said.acknowledged.length
      held = await inspect(history, data, said.acknowledged.at(-1) ?? held, faults, kind)
      done++
      if (done % 20 === 0) say?.(`${done} cuts, ${faults.count} faults`)
    }
    rmSync(folder, { recursive: true, force: true })
  }
  return { done, faults: faults.list, counted }
}

export const power: Stress = {
  name: 'power',
  unit: 'cuts of power during ingest, LevelDB and LMDB in turns',
  full: 100,
  plants: { 'writes are not synced': 4, 'acknowledged before it is written': 4, [LIES]: 4 },
  run,
}
