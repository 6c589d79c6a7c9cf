/** Tails and their crowds over a list that the test controls: what is read, which tail is given what, and when it learns of rollbacks and errors. */
import { describe, expect, test, vi } from 'vitest'
import { type Block, catalogue, FolioError } from '../../src/index.ts'
import { idText } from '../../src/position.ts'
import { Listing } from '../../src/scan/listing.ts'
import { type PageOptions, RawPage } from '../../src/scan/page.ts'
import { Bell } from '../../src/stream/bell.ts'
import { Crowds, followed } from '../../src/stream/crowd.ts'
import { Tail } from '../../src/stream/tail.ts'
import { turns } from '../support/turns.ts'

const at = (ledger: number, n = 1): string => idText(ledger, n * 4096)

/** A list of records, with a bell. If it is `late`, reads are answered by `answer()`, with what there was when they were made. */
function stage({ late = false, pageOf = 3, query = catalogue.operations as any, last = 9, made = (_: string): number => 0 } = {}) {
  const bell = new Bell()
  const head = { oldest: 1, last }
  const records: string[] = []
  const reads: string[] = []
  const limits: (number | undefined)[] = []
  const held: (() => void)[] = []
  let broken: unknown
  let settling: Promise<void> = Promise.resolve()
  const ledgerOf = (token: string): number => Number(BigInt(token.split('-')[0]!) >> 32n)
  const page = (cursor: string): RawPage => {
    const after = records.filter((token) => cursor === '' || BigInt(token) > BigInt(cursor)).slice(0, pageOf)
    const blockOf = (token: string) =>
      ({ resource: query.of, hi: () => ledgerOf(token), side: () => String(made(token)), token: () => token }) as unknown as Block
    return new RawPage(
      after.map((token) => ({ block: blockOf(token), first: 0, last: 0 })),
      { cursor, ended: after.length === pageOf ? 'limit' : 'end', final: false },
    )
  }
  const crowds = new Crowds({
    bell,
    head: head as never,
    read(_: unknown, options: PageOptions): any {
      const { cursor = '', limit = 0 } = options
      limits.push(limit)
      reads.push(cursor)
      if (broken && !late) throw broken
      const [answer, error] = [page(cursor), broken]
      if (!late) return answer
      return new Promise((resolve, reject) => held.push(() => (error ? reject(error) : resolve(answer))))
    },
    settled: () => settling,
  })
  const list = (values: object = {}) => followed(new Listing(query, values))
  /** A tail, and everything it was given. */
  const tail = (start: string | Promise<string> = '', signal?: AbortSignal, of = list(), isNow = typeof start !== 'string') => {
    const one = new Tail(crowds, of, start, signal, isNow)
    const given: unknown[] = []
    const pages: RawPage[] = []
    const pull = (): void =>
      one.pull({
        page: (page) => {
          pages.push(page)
          given.push(page.records.map(({ block }) => block.token(0)))
        },
        end: () => given.push('end'),
        fail: (error) => given.push(error instanceof FolioError ? [error.code, error.fields] : error),
      })
    return { one, given, pages, pull }
  }
  return {
    bell,
    crowds,
    head,
    reads,
    limits,
    held,
    list,
    tail,
    async append(ledger: number, ...tokens: string[]) {
      head.last = ledger
      records.push(...tokens)
      bell.ring()
      await turns()
    },
    rollback(last: number) {
      head.last = last
      records.splice(0, records.length, ...records.filter((token) => ledgerOf(token) <= last))
      bell.rolledBack(last)
    },
    break(error: unknown) {
      broken = error
    },
    settles(when: Promise<void>) {
      settling = when
    },
    async answer() {
      for (const go of held.splice(0)) go()
      await turns()
    },
  }
}

describe('records that are there are given, however often the bell rang:', () => {
  test.each([0, 1, 2, 3])('after %i rings', async (rings) => {
    const { bell, tail, append } = stage()
    await append(10, at(10), at(10, 2), at(10, 3), at(10, 4))
    // The append rang once.
    for (let ring = 1; ring < rings; ring++) bell.ring()
    const { given, pull } = tail()
    pull()
    await turns()
    expect(given).toEqual([[at(10), at(10, 2), at(10, 3)]])
    pull()
    await turns()
    // A full page does not tell what comes after it.
    expect(given).toEqual([[at(10), at(10, 2), at(10, 3)], [at(10, 4)]])
  })
})

test('a tail that was given a page to the end of the list sleeps without another read', async () => {
  const { bell, reads, limits, tail, append } = stage()
  await append(10, at(10))
  const { one, given, pull } = tail()
  expect([one.cursor, tail(at(9)).one.cursor]).toEqual(['', at(9)])
  pull()
  await turns()
  pull()
  await turns()
  expect([given.length, reads.length, bell.waiting]).toEqual([1, 1, 1])
  await append(11, at(11))
  expect([given[1], reads, limits]).toEqual([[at(11)], ['', at(10)], [200, 200]])
})

test('tails that come to the same place wait for one read, which is not repeated for another tail', async () => {
  const { bell, reads, tail } = stage()
  const tails = [tail(), tail(), tail()]
  for (const { pull } of tails) pull()
  await turns()
  expect([reads.length, bell.waiting]).toEqual([1, 3])
})

test('a tail that comes back to a place where others now wait joins them, and so does one that comes later', async () => {
  const { bell, reads, tail, append } = stage({ query: catalogue.offersOfAccount })
  await append(10, '110')
  const one = tail()
  one.pull()
  await turns()
  const other = tail('110')
  other.pull()
  await turns()
  one.pull()
  const third = tail('110')
  third.pull()
  await turns()
  const before = reads.length
  expect(bell.waiting).toBe(3)
  await append(11, '111')
  expect(reads.length).toBe(before + 1)
  expect(new Set([one.pages[1], other.pages[0], third.pages[0]]).size).toBe(1)
})

test('a tail that comes back first is joined by those that come later', async () => {
  const { reads, tail, append } = stage()
  await append(10, at(10))
  const one = tail()
  one.pull()
  await turns()
  one.pull()
  const other = tail(at(10))
  other.pull()
  await turns()
  await append(11, at(11))
  expect([one.pages[1] === other.pages[0], reads.length]).toEqual([true, 2])
})

test('a slow tail goes on from its own place, not from that of its former crowd', async () => {
  const { tail, append } = stage()
  await append(10, at(10))
  const [quick, behind] = [tail(), tail()]
  quick.pull()
  behind.pull()
  await turns()
  quick.pull()
  await append(11, at(11))
  await append(12, at(12))
  quick.pull()
  await turns()
  behind.pull()
  await turns()
  expect(quick.given).toEqual([[at(10)], [at(11)], [at(12)]])
  expect(behind.given).toEqual([[at(10)], [at(11), at(12)]])
})

test('lists with other values are other lists, even if the values are too large for a number', async () => {
  const { list, reads, tail, append } = stage()
  const [five, six] = [list({ id: 2n ** 60n }), list({ id: 2n ** 60n + 1n })]
  expect([five.key === list({ id: 2n ** 60n }).key, five.key === six.key]).toEqual([true, false])
  expect(list({ id: 'a' }).key).not.toBe(list({ id: 'b' }).key)
  const tails = [tail('', undefined, five), tail('', undefined, six)]
  for (const { pull } of tails) pull()
  await turns()
  expect(reads.length).toBe(2)
  await append(10, at(10))
  expect(tails.map(({ given }) => given)).toEqual([[[at(10)]], [[at(10)]]])
})

test('if nothing comes, tails from different places end up in one, and those that come there join them', async () => {
  const { bell, reads, tail, append } = stage({ last: 5 })
  const tails = [tail(at(1)), tail(at(2)), tail(at(5)), tail('')]
  for (const { pull } of tails) pull()
  await turns()
  for (const ledger of [6, 7]) {
    const before = reads.length
    await append(ledger)
    expect([reads.length - before, bell.waiting]).toEqual([1, 4])
  }
  const there = tail(idText(7, 0xffffffff))
  there.pull()
  await turns()
  const before = reads.length
  await append(8, at(8))
  const all = [...tails, there]
  expect(all.map(({ given }) => given)).toEqual(all.map(() => [[at(8)]]))
  expect([reads.length - before, new Set(all.map(({ pages }) => pages[0])).size]).toEqual([1, 1])
})

test('offers have no place in a ledger: if none come, tails stay after the newest offer that they know', async () => {
  const { tail, append } = stage({ query: catalogue.offersOfAccount })
  const [one, other] = [tail(), tail('110')]
  one.pull()
  other.pull()
  await append(10)
  await append(11, '109', '111')
  expect([one.given, other.given]).toEqual([[['109', '111']], [['111']]])
})

test('a tail that pulls and stops in one turn costs no read, and the next in its place costs one', async () => {
  for (const late of [false, true]) {
    const { reads, tail, append, answer } = stage({ late })
    await append(10, at(10))
    const hasty = tail()
    hasty.pull()
    hasty.one.stop()
    await turns()
    expect([reads.length, hasty.given]).toEqual([0, ['end']])
    const [one, other] = [tail(), tail()]
    one.pull()
    other.pull()
    await turns()
    await answer()
    await append(11, at(11))
    one.pull()
    one.one.stop()
    other.pull()
    await turns()
    await answer()
    expect([reads.length, other.given]).toEqual([2, [[at(10)], [at(11)]]])
  }
})

test('a tail that another stops while it is given something only ends, and those after it are given it', async () => {
  for (const what of ['page', 'fail', 'again'] as const) {
    const { bell, crowds, list, tail, append, ...on } = stage()
    const one = new Tail(crowds, list(), '', undefined, false)
    const [other, third] = [tail(), tail()]
    const stop = (): void => other.one.stop()
    one.pull({ page: stop, fail: stop, end: stop })
    other.pull()
    third.pull()
    await turns()
    if (what === 'fail') on.break('gone')
    if (what === 'again') bell.silence()
    else await append(10, at(10))
    await turns()
    expect([other.given, bell.waiting]).toEqual([['end'], 0])
    expect(third.given).toEqual([{ page: [at(10)], fail: 'gone', again: 'end' }[what]])
  }
})

test('a place in a future ledger is not given up for an earlier one', async () => {
  const { tail, append } = stage({ last: 5 })
  const ahead = tail(at(7, 2))
  ahead.pull()
  await append(6)
  await append(7, at(7), at(7, 2), at(7, 3))
  expect(ahead.given).toEqual([[at(7, 3)]])
})

test('a tail that has stopped is given nothing, while others are', async () => {
  const { bell, reads, tail, append } = stage()
  const [one, other] = [tail(), tail()]
  one.pull()
  other.pull()
  await turns()
  one.one.stop()
  expect([one.given, bell.waiting]).toEqual([['end'], 1])
  await append(10, at(10))
  expect([one.given, other.given]).toEqual([['end'], [[at(10)]]])
  other.pull()
  await turns()
  other.one.stop()
  const before = reads.length
  await append(11, at(11))
  expect([bell.waiting, reads.length, other.given]).toEqual([0, before, [[at(10)], 'end']])
  // Stopped and pulled again, it only ends again, and reads nothing.
  other.one.stop()
  other.pull()
  await turns()
  expect([other.given.at(-1), other.given.length, other.one.ended, reads.length]).toEqual(['end', 3, true, before])
})

describe('while a page is in flight', () => {
  test('a tail that comes to its place waits for it', async () => {
    const { reads, tail, append, answer } = stage({ late: true })
    await append(10, at(10))
    const [one, other] = [tail(), tail()]
    one.pull()
    await turns()
    other.pull()
    await turns()
    await answer()
    expect([reads.length, one.given, other.given]).toEqual([1, [[at(10)]], [[at(10)]]])
    expect(one.pages[0]).toBe(other.pages[0])
  })

  test('a ring is not lost', async () => {
    const { reads, bell, tail, append, answer } = stage({ late: true })
    const one = tail()
    one.pull()
    await turns()
    await append(10, at(10))
    expect(reads.length).toBe(1)
    await answer()
    await answer()
    expect([one.given, reads.length, bell.waiting]).toEqual([[[at(10)]], 2, 0])
  })

  test('a tail that stops is given nothing of it, and one that comes after all have stopped is', async () => {
    const { tail, append, answer } = stage({ late: true })
    await append(10, at(10))
    const [one, other] = [tail(), tail()]
    one.pull()
    other.pull()
    await turns()
    await answer()
    await append(11, at(11))
    one.pull()
    await turns()
    one.one.stop()
    other.pull()
    await turns()
    await answer()
    await answer()
    expect([one.given, other.given]).toEqual([
      [[at(10)], 'end'],
      [[at(10)], [at(11)]],
    ])
  })

  test('a rollback makes it outdated: it is read again', async () => {
    const { tail, append, rollback, answer } = stage({ late: true })
    await append(10, at(10))
    await append(11, at(11))
    const one = tail()
    one.pull()
    await turns()
    rollback(10)
    await answer()
    expect(one.given).toEqual([])
    await answer()
    expect(one.given).toEqual([[at(10)]])
  })

  test('closing the list ends the tails that wait for it', async () => {
    const { bell, tail, append, answer } = stage({ late: true })
    await append(10, at(10))
    const one = tail()
    one.pull()
    await turns()
    bell.silence()
    await answer()
    expect(one.given).toEqual(['end'])
  })
})

describe.each([false, true])('an error (late: %s)', (late) => {
  const gone = new FolioError('STORE_FAILED', { reason: 'gone' })
  const said = ['STORE_FAILED', { reason: 'gone' }]

  test('reaches all tails that wait, once writes in flight are done, and ends them', async () => {
    const { bell, tail, settles, answer, ...on } = stage({ late })
    let end = (): void => {}
    settles(new Promise((resolve) => (end = resolve)))
    on.break(gone)
    const [one, other] = [tail(), tail()]
    one.pull()
    other.pull()
    await turns()
    await answer()
    expect([one.given, other.given]).toEqual([[], []])
    // Nothing is read meanwhile.
    bell.ring()
    const third = tail()
    third.pull()
    await turns()
    expect(on.reads.length).toBe(1)
    end()
    await turns()
    expect([one.given, other.given, third.given]).toEqual([[said], [said], [said]])
    expect([one.one.ended, bell.waiting]).toEqual([true, 0])
    // The next tail reads anew.
    on.break(undefined)
    const next = tail()
    next.pull()
    await turns()
    await on.append(10, at(10))
    await answer()
    await answer()
    expect(next.given).toEqual([[at(10)]])
  })

  test('reaches only tails that wait: one at the same place that pulls later is given what is there by then', async () => {
    const { tail, answer, append, ...on } = stage({ late })
    await append(10, at(10))
    const [one, other] = [tail(), tail()]
    one.pull()
    other.pull()
    await turns()
    await answer()
    on.break(gone)
    await append(11, at(11))
    one.pull()
    await turns()
    await answer()
    expect(one.given).toEqual([[at(10)], said])
    on.break(undefined)
    other.pull()
    await turns()
    await answer()
    expect(other.given).toEqual([[at(10)], [at(11)]])
  })

  test('is dropped if the history it comes from is being rolled back', async () => {
    const { tail, settles, answer, append, rollback, ...on } = stage({ late })
    await append(10, at(10))
    await append(11, at(11))
    let end = (): void => {}
    settles(new Promise((resolve) => (end = resolve)))
    on.break(gone)
    const one = tail()
    one.pull()
    await turns()
    await answer()
    on.break(undefined)
    rollback(10)
    end()
    await turns()
    await answer()
    expect(one.given).toEqual([[at(10)]])
  })

  test('is dropped if the list is being closed', async () => {
    const { bell, tail, settles, answer, ...on } = stage({ late })
    let end = (): void => {}
    settles(new Promise((resolve) => (end = resolve)))
    on.break(gone)
    const one = tail()
    one.pull()
    await turns()
    await answer()
    bell.silence()
    end()
    await turns()
    expect(one.given).toEqual(['end'])
  })
})

describe('a rollback', () => {
  const refused = (last: number, reached: number) => ['ROLLED_BACK', { last, reached }]

  test.each([
    ['of the newest record given ends a stream', 10, [[at(10), at(11)], refused(10, 11)]],
    ['of what came after that does not', 11, [[at(10), at(11)], [at(12, 7)]]],
  ])('%s', async (_, to, given) => {
    const { tail, append, rollback } = stage()
    await append(10, at(10))
    await append(11, at(11))
    const one = tail()
    one.pull()
    await turns()
    await append(12, at(12))
    rollback(to)
    one.pull()
    await turns()
    await append(12, at(12, 7))
    expect(one.given).toEqual(given)
  })

  test.each([
    ['below the cursor of a stream ends it', at(8), 7, [refused(7, 8)]],
    ['to the ledger of that cursor does not', at(8), 8, [[at(10)]]],
    ['below the head ends a stream with a cursor in the future', at(20), 8, [refused(8, 9)]],
    ['to the newest ledger there was when that stream began does not', at(20), 9, []],
    ['of everything does not end a stream from the start', '', 0, [[at(10)]]],
  ])('%s', async (_, start, to, given) => {
    const { tail, append, rollback } = stage()
    const one = tail(start)
    one.pull()
    await turns()
    rollback(to)
    await turns()
    await append(10, at(10))
    expect(one.given).toEqual(given)
  })

  test('is followed by one read if many waited at one place, and closing by none', async () => {
    const { bell, reads, tail, rollback } = stage()
    const tails = [tail(at(7)), tail(at(7)), tail(at(7))]
    for (const { pull } of tails) pull()
    await turns()
    const before = reads.length
    rollback(8)
    await turns()
    expect([reads.length, bell.waiting]).toEqual([before + 1, 3])
    bell.silence()
    await turns()
    expect([reads.length, bell.waiting]).toEqual([before + 1, 0])
    expect(tails.map(({ given }) => given)).toEqual([['end'], ['end'], ['end']])
  })

  test('from before a stream began does not affect it', async () => {
    const { tail, append, rollback } = stage()
    await append(12, at(12))
    rollback(9)
    const one = tail(at(9))
    one.pull()
    await turns()
    await append(10, at(10))
    expect(one.given).toEqual([[at(10)]])
    // A rollback that the stream has survived does not end it later.
    rollback(10)
    one.pull()
    await turns()
    await append(11, at(11))
    rollback(11)
    one.pull()
    await turns()
    expect(one.given).toEqual([[at(10)], [at(11)]])
  })

  test('ends streams of offers by the ledger of each offer, which its id does not tell', async () => {
    const offers = { query: catalogue.offersOfAccount, made: (token: string) => (token === '111' ? 12 : 10) }
    for (const [to, given] of [
      [11, [['110', '111', '112'], refused(11, 12)]],
      [12, [['110', '111', '112'], ['113']]],
    ] as const) {
      const { tail, append, rollback } = stage(offers)
      await append(12, '110', '111', '112')
      const one = tail()
      one.pull()
      await turns()
      rollback(to)
      one.pull()
      await turns()
      await append(13, '113')
      expect(one.given).toEqual(given)
    }
  })

  test('of any kind ends a stream of offers from a cursor, since the ledger of that offer is unknown', async () => {
    const { tail, rollback } = stage({ query: catalogue.offersOfAccount })
    const one = tail('5')
    one.pull()
    await turns()
    rollback(8)
    await turns()
    expect(one.given).toEqual([refused(8, 9)])
  })
})

describe('a cursor that has to be looked up', () => {
  test('is waited for by a pull that comes before it', async () => {
    const { reads, tail, append } = stage()
    await append(10, at(10), at(10, 2))
    let found = (_: string): void => {}
    const one = tail(new Promise<string>((resolve) => (found = resolve)))
    one.pull()
    await turns()
    expect(reads).toEqual([])
    found(at(10))
    await turns()
    expect([one.given, reads]).toEqual([[[at(10, 2)]], [at(10)]])
  })

  test('causes no read unless the tail is pulled', async () => {
    const { reads, bell, tail, append } = stage()
    const one = tail(Promise.resolve(at(9)))
    await turns()
    await append(10, at(10))
    expect([reads, bell.waiting]).toEqual([[], 0])
    one.pull()
    await turns()
    expect(one.given).toEqual([[at(10)]])
  })

  test.each([false, true])('that cannot be found is an error for the first pull (made before that: %s)', async (before) => {
    const { tail } = stage()
    const one = tail(Promise.reject(new Error('gone')))
    if (before) one.pull()
    await turns()
    if (!before) one.pull()
    await turns()
    expect(one.given).toEqual([new Error('gone')])
    one.pull()
    expect(one.given).toEqual([new Error('gone'), 'end'])
  })

  test('that cannot be found during a rollback ends with ROLLED_BACK', async () => {
    const { tail, settles, rollback } = stage()
    let end = (): void => {}
    settles(new Promise((resolve) => (end = resolve)))
    const one = tail(Promise.reject(new Error('gone')))
    one.pull()
    await turns()
    expect(one.given).toEqual([])
    rollback(8)
    end()
    await turns()
    expect(one.given).toEqual([['ROLLED_BACK', { last: 8, reached: 9 }]])
  })

  test('for `now` stands at the newest ledger as of the call, wherever the newest record lies, and whatever is found later', async () => {
    const { tail, append, rollback } = stage()
    await append(10, at(10))
    await append(20)
    let found = (_: string): void => {}
    const ends = [tail(at(10), undefined, undefined, true), tail(new Promise<string>((resolve) => (found = resolve)))]
    const goesOn = tail(at(10))
    for (const one of [...ends, goesOn]) one.pull()
    rollback(15)
    found(at(10))
    await turns()
    await append(16, at(16))
    expect(ends.map(({ given }) => given)).toEqual([15, 15].map((last) => [['ROLLED_BACK', { last, reached: 20 }]]))
    expect(goesOn.given).toEqual([[at(16)]])
  })

  test('is no longer waited for by a tail that has stopped', async () => {
    const { reads, bell, tail } = stage()
    let found = (_: string): void => {}
    const one = tail(new Promise<string>((resolve) => (found = resolve)))
    one.pull()
    one.one.stop()
    found(at(9))
    await turns()
    expect([one.given, reads, bell.waiting]).toEqual([['end'], [], 0])
  })
})

test('a signal ends its tails once, has no listener once they have ended, and ends a new tail at once if it was aborted', async () => {
  const { reads, tail } = stage()
  const controller = new AbortController()
  const [added, removed] = [vi.spyOn(controller.signal, 'addEventListener'), vi.spyOn(controller.signal, 'removeEventListener')]
  const [one, other] = [tail('', controller.signal), tail('', controller.signal)]
  one.pull()
  other.pull()
  await turns()
  one.one.stop()
  expect([added.mock.calls.length, removed.mock.calls.length]).toEqual([1, 0])
  other.one.stop()
  expect([added.mock.calls.length, removed.mock.calls.length]).toEqual([1, 1])
  expect(removed.mock.calls[0]!.slice(0, 2)).toEqual(added.mock.calls[0]!.slice(0, 2))
  const [third, fourth] = [tail('', controller.signal), tail('', controller.signal)]
  third.pull()
  fourth.pull()
  await turns()
  expect(added.mock.calls.length).toBe(2)
  controller.abort()
  controller.signal.dispatchEvent(new Event('abort'))
  expect([one, other, third, fourth].map(({ given }) => given)).toEqual([['end'], ['end'], ['end'], ['end']])
  const before = reads.length
  const late = tail('', controller.signal)
  expect([late.one.ended, added.mock.calls.length]).toEqual([true, 2])
  late.pull()
  await turns()
  expect([late.given, reads.length]).toEqual([['end'], before])
})

/** What is uncaught while something is done. */
async function uncaughtIn(work: () => Promise<void>): Promise<unknown[]> {
  const uncaught: unknown[] = []
  const held = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', (error) => uncaught.push(error))
  try {
    await work()
    await turns()
  } finally {
    process.removeAllListeners('uncaughtException')
    for (const listener of held) process.on('uncaughtException', listener)
  }
  return uncaught
}

const throws = (): never => {
  throw new Error('mine')
}

describe.each([false, true])('a taker that throws, over reads that are late: %s,', (late) => {
  test('ends its own stream, and the others are told all the same', async () => {
    const uncaught = await uncaughtIn(async () => {
      const { tail, append, answer, crowds } = stage({ late })
      const [first, bad, last] = [tail(), tail(), tail()]
      first.pull()
      bad.one.pull({ page: throws, end: () => {}, fail: () => {} })
      last.pull()
      await turns()
      await answer()
      await append(10, at(10))
      await answer()
      expect([first.given, last.given, bad.one.ended, first.one.ended]).toEqual([[[at(10)]], [[at(10)]], true, false])
      for (const { pull } of [first, last]) pull()
      await append(11, at(11))
      await answer()
      expect([first.given[1], last.given[1], crowds.source.bell.waiting]).toEqual([[at(11)], [at(11)], 0])
    })
    expect(uncaught).toEqual([new Error('mine')])
  })
})

test('a taker that throws when a signal ends it keeps none of the other tails of that signal running', async () => {
  const uncaught = await uncaughtIn(async () => {
    const { tail, append, crowds } = stage()
    const controller = new AbortController()
    const removed = vi.spyOn(controller.signal, 'removeEventListener')
    const [first, bad, last] = [tail('', controller.signal), tail('', controller.signal), tail('', controller.signal)]
    first.pull()
    bad.one.pull({ page: () => {}, end: throws, fail: () => {} })
    last.pull()
    await turns()
    controller.abort()
    await append(10, at(10))
    expect([first, bad, last].map(({ given, one }) => [given, one.ended])).toEqual([
      [['end'], true],
      [[], true],
      [['end'], true],
    ])
    expect([crowds.source.bell.waiting, removed.mock.calls.length]).toEqual([0, 1])
  })
  expect(uncaught).toEqual([new Error('mine')])
})

test('a tail takes one call at a time: another one would keep the first from ever being answered', async () => {
  const { tail, append } = stage()
  const { given, pull } = tail()
  pull()
  expect(pull).toThrow(expect.objectContaining({ code: 'BAD_REQUEST' }))
  await append(10, at(10))
  expect(given).toEqual([[at(10)]])
  pull()
})
