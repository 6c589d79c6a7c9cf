/** Streams under schedules of all kinds: append, read, abort, slow readers, rollback and close in any order; each record once, in order. */

import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { level } from '../../adapters/level/index.ts'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import { slowStore } from '../../adapters/testing/slow-store.ts'
import { shared } from '../support/dump.ts'
import { plan, play, type Stage } from './scenario.ts'

const { FC_SEED, FC_RUNS } = process.env

const obeys = (stage: () => Stage, numRuns: number): Promise<void> =>
  fc.assert(
    fc.asyncProperty(fc.scheduler(), plan, async (s, planned) => {
      expect(await play(s, planned, stage())).toEqual([])
    }),
    {
      numRuns: Number(FC_RUNS ?? numRuns),
      // A slow machine tries fewer; that is not a failure. FC_RUNS asks for an exact number.
      ...(FC_RUNS === undefined && { interruptAfterTimeLimit: 25_000, markInterruptAsFailure: false }),
      ...(FC_SEED !== undefined && { seed: Number(FC_SEED) }),
    },
  )

test('over memory, every subscriber sees exactly the records after its cursor, in order, once', () =>
  obeys(() => ({ store: () => memory() }), 500))

test('so it does over a store whose every answer is scheduled', () => obeys(() => ({ store: (later) => slowStore(memory(), later) }), 500))

test('so it does over a store that another process writes to, which only a look at the head reveals', () =>
  obeys(() => {
    const disk = memoryDisk()
    return { store: () => shared(memory(disk)), reader: () => shared(memory(disk)) }
  }, 250))

test('so it does over such a store whose every answer is scheduled', () =>
  obeys(() => {
    const disk = memoryDisk()
    return { store: (later) => slowStore(shared(memory(disk)), later), reader: (later) => slowStore(shared(memory(disk)), later) }
  }, 250))

test('so it does over LevelDB', async () => {
  const root = mkdtempSync(join(tmpdir(), 'folio-streams-'))
  let runs = 0
  try {
    await obeys(() => ({ store: () => level(join(root, String(runs++))) }), 60)
  } finally {
    await rm(root, { recursive: true, force: true })
  }
})
