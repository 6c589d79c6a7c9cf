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

test.for<[answer: string, change: (store: Store) => unknown, said: string]>([
  ['text', () => ({ get: () => 'x' }), 'get: expected a Uint8Array, or undefined where nothing is; got a string'],
  ['an array of numbers', () => ({ getMany: () => [[1]] }), 'getMany: expected a Uint8Array, or undefined where nothing is; got an array'],
  ['one value for many', () => ({ getMany: () => undefined }), 'getMany: expected an array with an answer a key; got undefined'],
  ['null, late', () => ({ get: async () => null }), 'get: expected a Uint8Array, or undefined where nothing is; got null'],
  ['entries alone', () => ({ scan: () => [] }), 'scan: expected { entries: [], more: true or false }; got an array'],
  [
    'entries that are no pairs',
    () => ({ scan: () => ({ entries: [new Map()], more: false }) }),
    'scan: expected entries that are arrays of key and value; got an object of class Map',
  ],
  [
    'values of another kind',
    () => ({ scan: () => ({ entries: [[new Uint8Array(1), new ArrayBuffer(1)]], more: false }) }),
    'scan: expected keys and values that are Uint8Arrays; got an object of class ArrayBuffer',
  ],
  ['no capabilities', () => ({ capabilities: undefined }), 'expected a store that says its capabilities, got an object of class Object'],
  ['no scan', () => ({ scan: undefined }), 'expected a store, got an object of class Object without scan'],
])('laws say plainly that a store gives %s', async ([, change, said]) => {
  const open = (): Store => ({ ...memory(), ...(change(memory()) as Partial<Store>) })
  const messages: string[] = []
  for (const { run, skip } of storeConformance({ open }))
    if (skip === undefined) await run().catch(({ message }: Error) => messages.push(message.split('\n')[0]!))
  expect(messages).toContain(said)
  expect(messages.filter((message) => /is not|Cannot read|argument must/.test(message))).toEqual([])
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
