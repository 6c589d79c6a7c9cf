/** Stores that each break one law, and the law that rejects them. Laws are worth what they reject. */
import { stat } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { decline } from '../../adapters/check/index.ts'
import { memory, memoryDisk } from '../../adapters/memory/index.ts'
import { type StoreSubject, slowStore, storeConformance } from '../../adapters/testing/index.ts'
import { FolioError, type MaybePromise, type Store } from '../../src/index.ts'
import { rightSubject, storesOfOneDisk } from './faulty-disks.ts'
import { closing, noteInMemory, rightlyLimited } from './faulty-extras.ts'
import { faultyStores } from './faulty-stores.ts'
import { versioned } from './faulty-versions.ts'
import { named, rejects } from './rejects.ts'

test.for(faultyStores)('"%s…" rejects a store that %s', async ([start, , mutant, said]) => {
  const open = (): Store => {
    const store = memory()
    return { ...store, ...mutant(store) }
  }
  await rejects(storeConformance({ open }), start, said)
})

const SCAN = 'scan from <> to <ff×80>, {"limit":1000}'

test.for<[answer: string, change: (store: Store) => unknown, said: string]>([
  ['text', () => ({ get: () => 'x' }), 'get of <01>: expected a Uint8Array, or undefined where nothing is; got a string'],
  [
    'an array of numbers',
    () => ({ getMany: () => [[1]] }),
    'getMany of [<01>]: expected a Uint8Array, or undefined where nothing is; got an array',
  ],
  ['one value for many', () => ({ getMany: () => undefined }), 'getMany of [<01>]: expected an array with an answer a key; got undefined'],
  ['null, late', () => ({ get: async () => null }), 'get of <01>: expected a Uint8Array, or undefined where nothing is; got null'],
  ['entries alone', () => ({ scan: () => [] }), `${SCAN}: expected { entries: [], more: true or false }; got an array`],
  [
    'entries that are not pairs',
    () => ({ scan: () => ({ entries: [new Map()], more: false }) }),
    `${SCAN}: expected entries that are arrays of key and value; got an object of class Map`,
  ],
  [
    'values of another kind',
    () => ({ scan: () => ({ entries: [[new Uint8Array(1), new ArrayBuffer(1)]], more: false }) }),
    `${SCAN}: expected keys and values that are Uint8Arrays; got an object of class ArrayBuffer`,
  ],
  ['no capabilities', () => ({ capabilities: undefined }), 'expected a store, got an object of class Object without capabilities'],
  ['no scan', () => ({ scan: undefined }), 'expected a store, got an object of class Object without scan'],
])('laws say plainly what is wrong with a store that gives %s', async ([, change, said]) => {
  const open = (): Store => ({ ...memory(), ...(change(memory()) as Partial<Store>) })
  const messages: string[] = []
  for (const { run, skip } of storeConformance({ open }))
    if (skip === undefined) await run().catch(({ message }: Error) => messages.push(message.split('\n')[0]!))
  expect(messages).toContain(said)
  expect(messages.filter((message) => /is not|Cannot read|argument must/.test(message))).toEqual([])
})

describe('stores over a disk', () => {
  for (const law of storeConformance(rightSubject())) test(`a correct one: ${law.name}`, law.run)

  const { open, reopen, beside, killed, fail } = rightSubject()
  const within = new WeakMap<Store, Store>()
  const slowed = (store: Store): Store => {
    const late = slowStore(store)
    within.set(late, store)
    return late
  }
  const late = storeConformance({
    capabilities: { sync: false },
    open: async () => slowed(await open()),
    reopen: async (store) => slowed(await reopen!(within.get(store)!)),
    beside: async (store) => slowed(await beside!(within.get(store)!)),
    killed: async (store) => slowed(await killed!(within.get(store)!)),
    fail: (store) => fail!(within.get(store)!),
  })
  for (const law of late) test(`the same with every answer late: ${law.name}`, law.run)
  test('a slow store has the same members as the store it wraps', async () => {
    const store = await open()
    expect(Object.keys(slowStore(store)).sort()).toEqual(Object.keys(store).sort())
    expect(Object.keys(slowStore(memory())).sort()).toEqual(Object.keys(memory()).sort())
  })

  test.for(storesOfOneDisk)('"%s…" rejects a store that %s', async ([start, , subject, said]) => {
    await rejects(storeConformance(subject()), start, said)
  })
})

describe('a store that begins to read only a while after it was asked, when what was written later may be there too', () => {
  const open = (): Store => {
    const store = memory()
    const asked: Promise<unknown>[] = []
    let closing: Promise<void> | undefined
    const call = async <T>(work: () => MaybePromise<T>, turns = 0): Promise<T> => {
      if (closing) throw new FolioError('CLOSED')
      const done = (async () => {
        for (let n = 0; n < turns; n++) await new Promise((resolve) => setImmediate(resolve))
        return work()
      })()
      asked.push(done.catch(() => {}))
      return done
    }
    return {
      capabilities: { ...store.capabilities, sync: false },
      get: (key) => call(() => store.get(key), 2),
      getMany: (keys) => call(() => store.getMany(keys), 2),
      scan: (range, options) => call(() => store.scan(range, options), 2),
      write: (batch, options) => call(() => store.write(batch, options)),
      close: () => {
        closing ??= Promise.all(asked).then(() => store.close())
        return closing
      },
    }
  }
  for (const law of storeConformance({ open })) test.skipIf(law.skip)(law.name, law.run)
})

describe('a store that writes to a file, while its reads, which take more than a millisecond, are answered from memory', () => {
  const open = (): Store => {
    const store = memory()
    let last: Promise<void> = Promise.resolve()
    const busy = <T>(answer: T): T => {
      for (const from = performance.now(); performance.now() - from < 1.2; );
      return answer
    }
    return {
      ...store,
      get: (key) => busy(store.get(key)),
      scan: (range, options) => busy(store.scan(range, options)),
      write(batch, options) {
        const done = last.then(async () => {
          await stat('.') // which comes back as the write of a file does
          await store.write(batch, options)
        })
        last = done.catch(() => {})
        return done
      },
      close: async () => {
        await last
        await store.close()
      },
    }
  }
  const laws = storeConformance({ open, patience: 5000 })
  const whileWritten = ['a scan sees all', 'a read concurrent', 'a batch of 17 MiB']
  for (const start of whileWritten) test(named(laws, start).name, named(laws, start).run)
})

describe('a store that keeps versions for its snapshots', () => {
  const laws = storeConformance({ open: () => versioned() })
  for (const law of laws) test.skipIf(law.skip)(law.name, law.run)
})

describe('a store that takes keys of 20 bytes and values of 300', () => {
  const open = (): Store => {
    const store = memory()
    return { ...store, ...rightlyLimited(store), ...closing(store, noteInMemory()) }
  }
  for (const law of storeConformance({ open })) test.skipIf(law.skip)(law.name, law.run)

  test('may take keys of at most 8 bytes and values of at most 64, but no less', async () => {
    const bounded = (maxKeyBytes: number, maxValueBytes: number) =>
      storeConformance({ open: () => ({ ...memory(), capabilities: { ...memory().capabilities, maxKeyBytes, maxValueBytes } }) })
    const limit = 'a key or value larger'
    await expect(named(bounded(8, 63), limit).run()).rejects.toThrow('maxValueBytes: expected a whole number from 64 on, got 63')
    await expect(named(bounded(7.5, 64), limit).run()).rejects.toThrow('maxKeyBytes: expected a whole number from 8 on, got 7.5')
    await expect(named(bounded(8, 64), limit).run()).rejects.toThrow('expected STORE_MISUSE, got the answer')
    for (const { name, run, skip } of bounded(8, 64)) if (skip === undefined && !name.startsWith(limit)) await run()
  })
})

test.for([
  ['a compact of any range', 'the store has no `compact`'],
  ['a snapshot shows what', 'the store has no `snapshot`'],
  ['a snapshot gives CLOSED', 'the store has no `snapshot`'],
  ['a note gives back', 'the store has no `note`'],
  ['a reopen finds the note', 'the store has no `note`'],
  ['a key or value larger', 'the store names no limit'],
  ['a watch rings', 'the store has no `watch`'],
])('"%s…" tells the runner that %s', async ([start, reason]) => {
  const open = (): Store => {
    const { snapshot: _, ...store } = memory()
    return store
  }
  const law = named(storeConformance({ open, reopen: open, beside: open }), start!)
  const skipped: string[] = []
  const run: (context: unknown) => Promise<void> = law.run
  await run({ skip: (why: string) => skipped.push(why) })
  expect(skipped).toEqual([reason])
  await law.run()
  expect(law.run.length).toBe(0)
})

test('every law rejects some store', () => {
  const proven = [...faultyStores, ...storesOfOneDisk].map(([start]) => start)
  const subject: StoreSubject = { open: () => memory(memoryDisk()), reopen: () => memory(), beside: () => memory() }
  expect(storeConformance(subject).filter(({ name }) => !proven.some((start) => name.startsWith(start)))).toEqual([])
})

test('a law that is broken says if the stores that it is given are not empty', async () => {
  const disk = memoryDisk()
  await memory(disk).write([[Uint8Array.of(1), Uint8Array.of(2)]], { durable: true })
  const law = named(storeConformance({ open: () => memory(disk) }), 'FF is not infinity')
  await expect(law.run()).rejects.toThrow(/\nBesides, open\(\) gives a store that holds <[0-9a-f×]+>: each must be empty/)
})

describe('a failure that no law expects names the call', () => {
  const failed = (): never => {
    throw new FolioError('STORE_FAILED', { reason: 'no wire' })
  }
  const thrown = async (change: (store: Store) => Partial<Store>, start: string): Promise<Error> =>
    named(storeConformance({ open: () => ({ ...memory(), ...change(memory()) }) }), start)
      .run()
      .then(
        () => expect.fail('the law holds'),
        (error: Error) => error,
      )

  test.each<[string, (store: Store) => Partial<Store>, string]>([
    ['get of <01>', () => ({ get: failed }), 'capabilities'],
    ['getMany of [<01>]', () => ({ getMany: failed }), 'capabilities'],
    ['write of [[<01> <00>] [<6b00000000> <00>]], durable: false', () => ({ write: failed }), 'a write that resolved'],
    ['close', () => ({ close: failed }), 'capabilities'],
  ])('%s', async (call, change, start) => {
    const error = await thrown(change, start)
    expect(error.message).toMatch(`${call}: expected an answer; got STORE_FAILED: The store failed.`)
    expect(error.cause).toMatchObject({ code: 'STORE_FAILED', fields: { reason: 'no wire' } })
  })

  test('as well in a property, which then gives the case too', async () => {
    const scan: Store['scan'] = () => failed()
    expect((await thrown(() => ({ scan }), 'a range includes')).message).toMatch(
      /^scan from <> to <ff×80>, \{"limit":1000\}: expected an answer; got STORE_FAILED: .*\nin case 1, /,
    )
  })

  test('of an open that is rejected, whatever it throws', async () => {
    const open = async (): Promise<Store> => {
      throw new Error('no such place')
    }
    await expect(named(storeConformance({ open }), 'capabilities').run()).rejects.toThrow(/^open: .*no such place$/)
    await expect(named(storeConformance({ open: failed }), 'stores that are opened').run()).rejects.toThrow(/^open: .*STORE_FAILED/)
  })

  test('and does not hide what a law found before the close failed', async () => {
    const { message } = await thrown(() => ({ get: failed, close: failed }), 'capabilities')
    expect(message).toMatch(/^get of <01>: /)
  })

  test('and so does an answer where a law expects an error, or another error', async () => {
    const ignoring = ({ write }: Store): Partial<Store> => ({ write: (batch, { durable }) => write(batch, { durable }) })
    const { message } = await thrown(ignoring, 'an empty value and a missing key')
    expect(message).toBe('write of [], durable: false, if <01> holds <>: expected CONFLICT, got the answer undefined')
    const other = (): Partial<Store> => ({ scan: () => failed() })
    expect((await thrown(other, 'an undefined bound')).message).toMatch(
      /^scan from undefined to <01>, \{"limit":1\}: expected STORE_MISUSE, got STORE_FAILED: The store failed/,
    )
  })
})

describe('a store that leaves a call unanswered', () => {
  const never = new Promise<never>(() => {})
  /** Every call waits for the one before, and one that is refused lets none follow. */
  const stuck = (): Store => {
    const store = memory()
    let isStuck = false
    const call = <T>(work: () => MaybePromise<T>): Promise<T> =>
      isStuck
        ? never
        : (async () => work())().catch((error) => {
            isStuck = error.code === 'CONFLICT'
            throw error
          })
    return {
      capabilities: { ...store.capabilities, sync: false },
      get: (key) => call(() => store.get(key)),
      getMany: (keys) => call(() => store.getMany(keys)),
      scan: (range, options) => call(() => store.scan(range, options)),
      write: (batch, options) => call(() => store.write(batch, options)),
      close: () => call(() => store.close()),
    }
  }

  test('is given up after its patience, and the law names the call', async () => {
    const laws = storeConformance({ open: stuck, patience: 30 })
    await named(laws, 'an undefined bound').run()
    await expect(named(laws, 'an empty value').run()).rejects.toThrow(
      'write of [], durable: false, if <01> holds undefined: expected an answer; none came within 0.03 s',
    )
    const late = storeConformance({ open: () => memory(), reopen: () => ({ ...memory(), scan: () => never }), patience: 30 })
    await expect(named(late, 'a reopen finds everything').run()).rejects.toThrow(
      /^after the first reopen: .*: expected an answer; none came within 0\.03 s$/,
    )
  })

  test('no timer is left of a call that was answered', async () => {
    const laws = storeConformance({ open: () => slowStore(memory()), patience: 2 ** 31 - 1 })
    const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
    const before = timers()
    await named(laws, 'a write that resolved').run()
    expect(timers() - before).toBeLessThan(10)
  })

  test.each([0, Number.POSITIVE_INFINITY, 2 ** 31, '1'])('for %s milliseconds is no subject', (patience) => {
    expect(() => storeConformance({ open: () => memory(), patience: patience as number })).toThrow(/patience/)
  })
})

test('bytes that are repeated are counted where a message shows them', async () => {
  const spoilt = (store: Store): Partial<Store> => ({ get: (key) => (key.length > 64 ? undefined : store.get(key)) })
  const laws = storeConformance({ open: () => ({ ...memory(), ...spoilt(memory()) }) })
  await expect(named(laws, 'keys that differ only').run()).rejects.toThrow(/^get of <00>|^get of <61/)
  const { message } = await named(laws, 'keys are ordered')
    .run()
    .then(
      () => expect.fail('the law holds'),
      (error: Error) => error,
    )
  expect(message).not.toMatch(/Uint8Array|(..)\1{7}/)
})

test.each([Number.NaN, undefined, '7'])('a subject that holds %s resources is rejected, since no leak could show', async (held) => {
  const laws = storeConformance({ open: () => memory(), held: () => held as number })
  await expect(named(laws, 'stores that are opened').run()).rejects.toThrow(`held: expected a number, got ${held}`)
})

describe('a declined law', () => {
  test('says why', () => {
    const laws = storeConformance({ open: () => memory(), declined: { 'a scan stops before maxBytes': 'this store counts no bytes' } })
    expect(laws.filter(({ skip }) => skip !== undefined).map(({ name, skip }) => [name.slice(0, 12), skip])).toEqual([
      ['a scan stops', 'this store counts no bytes'],
      ['a reopen fin', 'the subject cannot reopen its store'],
      ['what is left', 'the subject cannot tell what is left of its store'],
      ['a note that ', 'the subject cannot tell what is left of its store'],
      ['a kill takes', 'the subject cannot tell what is left of its store'],
      ['what another', 'the subject cannot open its store twice'],
      ['of writers i', 'the subject cannot open its store twice'],
      ['a watch ring', 'the subject cannot open its store twice'],
      ['no snapshot ', 'the subject cannot open its store twice'],
      ['a reopen fin', 'the subject cannot reopen its store'],
      ['a failure be', 'the subject cannot make its store fail'],
    ])
  })

  const said = (declined: Record<string, string>): unknown => {
    try {
      return storeConformance({ open: () => memory(), declined }).filter(({ skip }) => skip === 'x').length
    } catch (error) {
      const { code, fields } = error as FolioError
      return [code, fields['field'], fields['reason']]
    }
  }

  test('must be one of the laws, and have a reason', () => {
    expect(said({ 'a law of old': 'x' })).toEqual(['BAD_REQUEST', 'declined', 'there is no law "a law of old…" to decline'])
    expect(said({ 'a close waits': ' ' })).toEqual(['BAD_REQUEST', 'declined', 'a declined law must say why: "a close waits…"'])
    expect(said({ 'a close waits': undefined as never })).toEqual([
      'BAD_REQUEST',
      'declined',
      'a declined law must say why: "a close waits…"',
    ])
  })

  test('is one law, not all that begin alike', () => {
    const [code, field, reason] = said({ 'a scan s': 'x' }) as string[]
    expect([code, field]).toEqual(['BAD_REQUEST', 'declined'])
    expect(reason).toBe(
      '"a scan s…" is the beginning of 2 laws; say which: "a scan stops before maxBytes, but never before the first entry", ' +
        '"a scan sees all of a batch or none of it"',
    )
    expect(said({ a: 'x' })).toEqual(['BAD_REQUEST', 'declined', expect.stringMatching(/^"a…" is the beginning of \d\d laws/)])
    expect(said({ 'a scan st': 'x', 'a scan se': 'x' })).toBe(2)
  })

  test('is the one whose whole name is given, even if another begins with it', () => {
    const law = (name: string) => ({ name, run: async () => {} })
    const laws = decline([law('a scan'), law('a scan stops')], { 'a scan': 'x' })
    expect(laws.map(({ skip }) => skip)).toEqual(['x', undefined])
  })
})
