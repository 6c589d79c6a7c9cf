/** Stores that each break one law, and the law that rejects them: the laws are only worth what they reject. */
import { describe, expect, test } from 'vitest'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import { type StoreSubject, storeConformance } from '../../adapters/testing/index.ts'
import type { Store } from '../../src/index.ts'
import { rightSubject, storesOfOneDisk } from './faulty-disks.ts'
import { storesThatMisread } from './faulty-reads.ts'
import { storesThatMiswrite } from './faulty-writes.ts'
import { rejects } from './rejects.ts'

test.for([...storesThatMisread, ...storesThatMiswrite])('"%s…" rejects a store that %s', async ([start, , mutant]) => {
  const open = (): Store => {
    const store = memory()
    return { ...store, ...mutant(store) }
  }
  await rejects(storeConformance({ open }), start)
})

describe('stores over a disk', () => {
  for (const law of storeConformance(rightSubject())) test(`a right one: ${law.name}`, law.run)

  test.for(storesOfOneDisk)('"%s…" rejects a store that %s', async ([start, , subject]) => {
    await rejects(storeConformance(subject()), start)
  })
})

test('every law rejects some store', () => {
  const proven = [...storesThatMisread, ...storesThatMiswrite, ...storesOfOneDisk].map(([start]) => start)
  const subject: StoreSubject = { open: () => memory(memoryDisk()), reopen: () => memory(), beside: () => memory() }
  expect(storeConformance(subject).filter(({ name }) => !proven.some((start) => name.startsWith(start)))).toEqual([])
})

describe('a law that is declined', () => {
  test('says why', () => {
    const laws = storeConformance({ open: () => memory(), declined: { 'a scan stops before maxBytes': 'this store counts no bytes' } })
    expect(laws.filter(({ skip }) => skip !== undefined).map(({ name, skip }) => [name.slice(0, 12), skip])).toEqual([
      ['a scan stops', 'this store counts no bytes'],
      ['a reopen fin', 'the subject cannot reopen its store'],
      ['what another', 'the subject cannot open its store twice'],
      ['a watch ring', 'the subject cannot open its store twice'],
    ])
  })

  test('is one of the laws, and has a reason', () => {
    expect(() => storeConformance({ open: () => memory(), declined: { 'a law of old': 'it is gone' } })).toThrow('there is no law')
    expect(() => storeConformance({ open: () => memory(), declined: { 'a close waits': ' ' } })).toThrow('must say why')
  })
})
