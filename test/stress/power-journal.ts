/**
 * What the library that is preloaded (`power.c`) has written down, and what a file that is written in place may hold after power was lost: of what was
 * written since the last sync, any sectors, in any mixture of old and new. Synchronous writes are sure.
 */
import { closeSync, existsSync, ftruncateSync, openSync, readdirSync, readFileSync, statSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { random } from './stress.ts'

export type Chance = ReturnType<typeof random>

interface WriteEntry {
  readonly what: 'W'
  readonly inode: string
  readonly offset: number
  /** The size of the file before it. */
  readonly size: number
  /** What was there before: shorter than what was written if the file ended there. */
  readonly old: Uint8Array
  readonly bytes: Uint8Array
  readonly isSure: boolean
}

export type Entry =
  | { readonly what: 'C' | 'N'; readonly inode: string }
  | { readonly what: 'S'; readonly inode: string; readonly size: number }
  | WriteEntry

export function readJournal(path: string): Entry[] {
  if (!existsSync(path)) return []
  const all = readFileSync(path)
  const entries: Entry[] = []
  for (let at = 0; at < all.length; ) {
    const end = all.indexOf(0x0a, at)
    // The process was ended while it wrote this down, and so before it did what this is about.
    if (end < 0) break
    const [what, inode = '', ...numbers] = all.toString('latin1', at, end).split(' ')
    at = end + 1
    if (what === 'C' || what === 'N') entries.push({ what, inode })
    else if (what === 'S') entries.push({ what, inode, size: Number(numbers[0]) })
    else {
      const [offset, length, size, had, sure] = numbers.map(Number) as [number, number, number, number, number]
      if (what !== 'W' || at + had + length > all.length) break
      const [old, bytes] = [all.subarray(at, at + had), all.subarray(at + had, at + had + length)]
      entries.push({ what, inode, offset, size, old, bytes, isSure: sure === 1 })
      at += had + length
    }
  }
  return entries
}

const SECTOR_BYTES = 512

/** Takes away what is not sure to be there. Returns the number of bytes. */
export function loosenPages(folder: string, entries: readonly Entry[], chance: Chance): number {
  let lost = 0
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const path = join(folder, name)
    const inode = String(statSync(path, { bigint: true }).ino)
    const own = entries.filter((entry) => entry.inode === inode)
    const synced = own.findLastIndex(({ what }) => what === 'S')
    const writes = own.slice(synced + 1).filter((entry): entry is WriteEntry => entry.what === 'W')
    const isNew = !own.some(({ what }) => what !== 'W') && own.some((entry) => entry.what === 'W' && entry.size === 0)
    if (isNew && writes.every(({ isSure }) => !isSure) && chance.chance(0.3)) unlinkSync(path)
    else lost += replay(path, writes, chance)
  }
  return lost
}

/** Undoes the writes, and makes them again in part. */
function replay(path: string, writes: readonly WriteEntry[], chance: Chance): number {
  const share = chance.pick([0, 0.5, 0.9, 1])
  const file = openSync(path, 'r+')
  let lost = 0
  try {
    for (const { offset, size, old } of writes.toReversed()) {
      writeSync(file, old, 0, old.length, offset)
      ftruncateSync(file, size)
    }
    for (const { offset, bytes, isSure } of writes)
      for (let at = 0; at < bytes.length; ) {
        const length = Math.min(bytes.length - at, SECTOR_BYTES - ((offset + at) % SECTOR_BYTES))
        if (isSure || chance.chance(share)) writeSync(file, bytes, at, length, offset + at)
        else lost += length
        at += length
      }
  } finally {
    closeSync(file)
  }
  return lost
}
