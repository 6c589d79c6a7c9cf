/** Tails and their crowds over a list that the test holds: what is read, who is given what, who is told of a rollback or an error, and when. */
import { describe, expect, test, vi } from 'vitest'
import { catalogue, FolioError, type RawPage } from '../../src/index.ts'
import { idText } from '../../src/position.ts'
import { Bell } from '../../src/stream/bell.ts'
import { Crowds, followed } from '../../src/stream/crowd.ts'
import { Tail } from '../../src/stream/tail.ts'

const settle = async (): Promise<void> => {
  await new Promise((resolve) => setImmediate(resolve))
}
const at = (ledger: number, n = 1): string => idText(ledger, n * 4096)

/** A list of records that are their tokens, under a bell. What is `late` is answered when it is let go, as of when it was asked. */
function stage({ late = false, pageOf = 3, query = catalogue.operations as any, last = 9, made = (_: string): number => 0 } = {}) {
  const bell = new Bell()
  const head = { last }
  const records: string[] = []
  const reads: string[] = []
  const limits: (number | undefined)[] = []
  const held: (() => void)[] = []
  let broken: unknown
  let settling: Promise<void> = Promise.resolve()
  const ledgerOf = (token: string): number => Number(BigInt(token.split('-')[0]!) >> 32n)
  const page = (cursor: string): RawPage => {
    const after = records.filter((token) => cursor === '' || BigInt(token) > BigInt(cursor)).slice(0, pageOf)
    return {
      records: after.map((token) => ({
        block: { resource: query.of, hi: () => ledgerOf(token), side: () => String(made(token)), token: () => token },
        at: 0,
      })),
      next: after.at(-1) ?? cursor,
      prev: after[0] ?? cursor,
      ended: after.length === pageOf ? 'limit' : 'end',
      final: false,
    } as unknown as RawPage
  }
  const crowds = new Crowds({
    bell,
    head: head as never,
    read(_, __, options) {
      const { cursor = '', limit } = options
      limits.push('cursor' in options && cursor === '' ? -1 : limit)
      reads.push(cursor)
      if (broken && !late) throw broken
      const [answer, error] = [page(cursor), broken]
      if (!late) return answer
      return new Promise((resolve, reject) => held.push(() => (error ? reject(error) : resolve(answer))))
    },
    settled: () => settling,
  })
  const list = (values: object = {}) => followed(query, values as never)
  /** A tail, and all that it was given. */
  const tail = (start: string | Promise<string> = '', signal?: AbortSignal, of = list()) => {
    const one = new Tail(crowds, of, start, signal)
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
      await settle()
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
      await settle()
    },
  }
}

describe('what is there is given, whatever was rung before,', () => {
  test.each([0, 1, 2, 3])('after %i rings', async (rings) => {
    const { bell, tail, append } = stage()
    await append(10, at(10), at(10, 2), at(10, 3), at(10, 4))
    // The append rang once.
    for (let ring = 1; ring < rings; ring++) bell.ring()
    const { given, pull } = tail()
    pull()
    await settle()
    expect(given).toEqual([[at(10), at(10, 2), at(10, 3)]])
    pull()
    await settle()
    // A full page says nothing about what comes after it.
    expect(given).toEqual([[at(10), at(10, 2), at(10, 3)], [at(10, 4)]])
  })
})

test('who has been given a page to the end of the list sleeps without another read', async () => {
  const { bell, reads, limits, tail, append } = stage()
  await append(10, at(10))
  const { one, given, pull } = tail()
  expect([one.cursor, tail(at(9)).one.cursor]).toEqual(['', at(9)])
  pull()
  await settle()
  pull()
  await settle()
  expect([given.length, reads.length, bell.waiting]).toEqual([1, 1, 1])
  await append(11, at(11))
  expect([given[1], reads, limits]).toEqual([[at(11)], ['', at(10)], [200, 200]])
})

test('many who come to one place wait for one read, which is not made again for one more', async () => {
  const { bell, reads, tail } = stage()
  const tails = [tail(), tail(), tail()]
  for (const { pull } of tails) pull()
  await settle()
  expect([reads.length, bell.waiting]).toEqual([1, 3])
})

test('who comes back to a place where others wait by now waits with them, and they with who comes after', async () => {
  const { bell, reads, tail, append } = stage({ query: catalogue.offersOfAccount })
  await append(10, '110')
  const one = tail()
  one.pull()
  await settle()
  const other = tail('110')
  other.pull()
  await settle()
  one.pull()
  const third = tail('110')
  third.pull()
  await settle()
  const before = reads.length
  expect(bell.waiting).toBe(3)
  await append(11, '111')
  expect(reads.length).toBe(before + 1)
  expect(new Set([one.pages[1], other.pages[0], third.pages[0]]).size).toBe(1)
})

test('who comes back first is found by who comes after', async () => {
  const { reads, tail, append } = stage()
  await append(10, at(10))
  const one = tail()
  one.pull()
  await settle()
  one.pull()
  const other = tail(at(10))
  other.pull()
  await settle()
  await append(11, at(11))
  expect([one.pages[1] === other.pages[0], reads.length]).toEqual([true, 2])
})

test('who was slow goes on from its own place, not from that of those it once stood with', async () => {
  const { tail, append } = stage()
  await append(10, at(10))
  const [quick, behind] = [tail(), tail()]
  quick.pull()
  behind.pull()
  await settle()
  quick.pull()
  await append(11, at(11))
  await append(12, at(12))
  quick.pull()
  await settle()
  behind.pull()
  await settle()
  expect(quick.given).toEqual([[at(10)], [at(11)], [at(12)]])
  expect(behind.given).toEqual([[at(10)], [at(11), at(12)]])
})

test('lists with other values are other lists, also where the values are too large for a number', async () => {
  const { list, reads, tail, append } = stage()
  const [five, six] = [list({ id: 2n ** 60n }), list({ id: 2n ** 60n + 1n })]
  expect([five.key === list({ id: 2n ** 60n }).key, five.key === six.key]).toEqual([true, false])
  expect(list({ id: 'a' }).key).not.toBe(list({ id: 'b' }).key)
  const tails = [tail('', undefined, five), tail('', undefined, six)]
  for (const { pull } of tails) pull()
  await settle()
  expect(reads.length).toBe(2)
  await append(10, at(10))
  expect(tails.map(({ given }) => given)).toEqual([[[at(10)]], [[at(10)]]])
})

test('where nothing comes, those from different places end up at one, and whoever comes there waits with them', async () => {
  const { bell, reads, tail, append } = stage({ last: 5 })
  const tails = [tail(at(1)), tail(at(2)), tail(at(5)), tail('')]
  for (const { pull } of tails) pull()
  await settle()
  for (const ledger of [6, 7]) {
    const before = reads.length
    await append(ledger)
    expect([reads.length - before, bell.waiting]).toEqual([1, 4])
  }
  const there = tail(idText(7, 0xffffffff))
  there.pull()
  await settle()
  const before = reads.length
  await append(8, at(8))
  const all = [...tails, there]
  expect(all.map(({ given }) => given)).toEqual(all.map(() => [[at(8)]]))
  expect([reads.length - before, new Set(all.map(({ pages }) => pages[0])).size]).toEqual([1, 1])
})

test('offers have no place in a ledger: where none come, those who wait stay after the newest they know', async () => {
  const { tail, append } = stage({ query: catalogue.offersOfAccount })
  const [one, other] = [tail(), tail('110')]
  one.pull()
  other.pull()
  await append(10)
  await append(11, '109', '111')
  expect([one.given, other.given]).toEqual([[['109', '111']], [['111']]])
})

test('who pulls and leaves in one turn costs no read, and who comes in its place one', async () => {
  for (const late of [false, true]) {
    const { reads, tail, append, answer } = stage({ late })
    await append(10, at(10))
    const hasty = tail()
    hasty.pull()
    hasty.one.stop()
    await settle()
    expect([reads.length, hasty.given]).toEqual([0, ['end']])
    const [one, other] = [tail(), tail()]
    one.pull()
    other.pull()
    await settle()
    await answer()
    await append(11, at(11))
    one.pull()
    one.one.stop()
    other.pull()
    await settle()
    await answer()
    expect([reads.length, other.given]).toEqual([2, [[at(10)], [at(11)]]])
  }
})

test('who is stopped by another that is given something is told that alone, and those behind are given it', async () => {
  for (const what of ['page', 'fail', 'again'] as const) {
    const { bell, crowds, list, tail, append, ...on } = stage()
    const one = new Tail(crowds, list(), '', undefined)
    const [other, third] = [tail(), tail()]
    const stop = (): void => other.one.stop()
    one.pull({ page: stop, fail: stop, end: stop })
    other.pull()
    third.pull()
    await settle()
    if (what === 'fail') on.break('gone')
    if (what === 'again') bell.silence()
    else await append(10, at(10))
    await settle()
    expect([other.given, bell.waiting]).toEqual([['end'], 0])
    expect(third.given).toEqual([{ page: [at(10)], fail: 'gone', again: 'end' }[what]])
  }
})

test('a place in a ledger that is still to come is not given up for an earlier one', async () => {
  const { tail, append } = stage({ last: 5 })
  const ahead = tail(at(7, 2))
  ahead.pull()
  await append(6)
  await append(7, at(7), at(7, 2), at(7, 3))
  expect(ahead.given).toEqual([[at(7, 3)]])
})

test('who has left is given nothing, and who stays is', async () => {
  const { bell, reads, tail, append } = stage()
  const [one, other] = [tail(), tail()]
  one.pull()
  other.pull()
  await settle()
  one.one.stop()
  expect([one.given, bell.waiting]).toEqual([['end'], 1])
  await append(10, at(10))
  expect([one.given, other.given]).toEqual([['end'], [[at(10)]]])
  other.pull()
  await settle()
  other.one.stop()
  const before = reads.length
  await append(11, at(11))
  expect([bell.waiting, reads.length, other.given]).toEqual([0, before, [[at(10)], 'end']])
  // Stopped once more, and pulled, it says so and asks for nothing.
  other.one.stop()
  other.pull()
  await settle()
  expect([other.given.at(-1), other.given.length, other.one.ended, reads.length]).toEqual(['end', 3, true, before])
})

describe('while a page is on its way', () => {
  test('whoever comes to its place waits for it', async () => {
    const { reads, tail, append, answer } = stage({ late: true })
    await append(10, at(10))
    const [one, other] = [tail(), tail()]
    one.pull()
    await settle()
    other.pull()
    await settle()
    await answer()
    expect([reads.length, one.given, other.given]).toEqual([1, [[at(10)]], [[at(10)]]])
    expect(one.pages[0]).toBe(other.pages[0])
  })

  test('a ring is not lost', async () => {
    const { reads, bell, tail, append, answer } = stage({ late: true })
    const one = tail()
    one.pull()
    await settle()
    await append(10, at(10))
    expect(reads.length).toBe(1)
    await answer()
    await answer()
    expect([one.given, reads.length, bell.waiting]).toEqual([[[at(10)]], 2, 0])
  })

  test('who leaves is given nothing of it, and who comes after all have left is', async () => {
    const { tail, append, answer } = stage({ late: true })
    await append(10, at(10))
    const [one, other] = [tail(), tail()]
    one.pull()
    other.pull()
    await settle()
    await answer()
    await append(11, at(11))
    one.pull()
    await settle()
    one.one.stop()
    other.pull()
    await settle()
    await answer()
    await answer()
    expect([one.given, other.given]).toEqual([
      [[at(10)], 'end'],
      [[at(10)], [at(11)]],
    ])
  })

  test('history that is taken back makes it worthless: it is read again', async () => {
    const { tail, append, rollback, answer } = stage({ late: true })
    await append(10, at(10))
    await append(11, at(11))
    const one = tail()
    one.pull()
    await settle()
    rollback(10)
    await answer()
    expect(one.given).toEqual([])
    await answer()
    expect(one.given).toEqual([[at(10)]])
  })

  test('a list that is closed ends who waits for it', async () => {
    const { bell, tail, append, answer } = stage({ late: true })
    await append(10, at(10))
    const one = tail()
    one.pull()
    await settle()
    bell.silence()
    await answer()
    expect(one.given).toEqual(['end'])
  })
})

describe.each([false, true])('an error (late: %s)', (late) => {
  const gone = new FolioError('STORE_FAILED', { reason: 'gone' })
  const said = ['STORE_FAILED', { reason: 'gone' }]

  test('is told to all who wait, when what was being written is done, and they are over', async () => {
    const { bell, tail, settles, answer, ...on } = stage({ late })
    let end = (): void => {}
    settles(new Promise((resolve) => (end = resolve)))
    on.break(gone)
    const [one, other] = [tail(), tail()]
    one.pull()
    other.pull()
    await settle()
    await answer()
    expect([one.given, other.given]).toEqual([[], []])
    // Nobody reads meanwhile.
    bell.ring()
    const third = tail()
    third.pull()
    await settle()
    expect(on.reads.length).toBe(1)
    end()
    await settle()
    expect([one.given, other.given, third.given]).toEqual([[said], [said], [said]])
    expect([one.one.ended, bell.waiting]).toEqual([true, 0])
    // The next who comes reads anew.
    on.break(undefined)
    const next = tail()
    next.pull()
    await settle()
    await on.append(10, at(10))
    await answer()
    await answer()
    expect(next.given).toEqual([[at(10)]])
  })

  test('is of those who wait: who stands there too, and comes later, is given what is there by then', async () => {
    const { tail, answer, append, ...on } = stage({ late })
    await append(10, at(10))
    const [one, other] = [tail(), tail()]
    one.pull()
    other.pull()
    await settle()
    await answer()
    on.break(gone)
    await append(11, at(11))
    one.pull()
    await settle()
    await answer()
    expect(one.given).toEqual([[at(10)], said])
    on.break(undefined)
    other.pull()
    await settle()
    await answer()
    expect(other.given).toEqual([[at(10)], [at(11)]])
  })

  test('in what is being taken back is not told', async () => {
    const { tail, settles, answer, append, rollback, ...on } = stage({ late })
    await append(10, at(10))
    await append(11, at(11))
    let end = (): void => {}
    settles(new Promise((resolve) => (end = resolve)))
    on.break(gone)
    const one = tail()
    one.pull()
    await settle()
    await answer()
    on.break(undefined)
    rollback(10)
    end()
    await settle()
    await answer()
    expect(one.given).toEqual([[at(10)]])
  })

  test('in what is being closed is not told', async () => {
    const { bell, tail, settles, answer, ...on } = stage({ late })
    let end = (): void => {}
    settles(new Promise((resolve) => (end = resolve)))
    on.break(gone)
    const one = tail()
    one.pull()
    await settle()
    await answer()
    bell.silence()
    end()
    await settle()
    expect(one.given).toEqual(['end'])
  })
})

describe('a rollback', () => {
  const refused = (last: number, reached: number) => ['ROLLED_BACK', { last, reached }]

  test.each([
    ['of the newest record given', 10, [[at(10), at(11)], refused(10, 11)]],
    ['of what came after it', 11, [[at(10), at(11)], [at(12, 7)]]],
  ])('%s', async (_, to, given) => {
    const { tail, append, rollback } = stage()
    await append(10, at(10))
    await append(11, at(11))
    const one = tail()
    one.pull()
    await settle()
    await append(12, at(12))
    rollback(to)
    one.pull()
    await settle()
    await append(12, at(12, 7))
    expect(one.given).toEqual(given)
  })

  test.each([
    ['below the cursor that a stream began with', at(8), 7, [refused(7, 8)]],
    ['to the ledger of that cursor', at(8), 8, [[at(10)]]],
    ['below a cursor in what is still to come, of which nothing but what was there counts', at(20), 8, [refused(8, 9)]],
    ['to the newest there was when it began', at(20), 9, []],
    ['to the first ledger of all, of a stream from the start', '', 0, [[at(10)]]],
  ])('%s', async (_, start, to, given) => {
    const { tail, append, rollback } = stage()
    const one = tail(start)
    one.pull()
    await settle()
    rollback(to)
    await settle()
    await append(10, at(10))
    expect(one.given).toEqual(given)
  })

  test('is followed by one read where many waited at one place, and the end of it all by none', async () => {
    const { bell, reads, tail, rollback } = stage()
    const tails = [tail(at(7)), tail(at(7)), tail(at(7))]
    for (const { pull } of tails) pull()
    await settle()
    const before = reads.length
    rollback(8)
    await settle()
    expect([reads.length, bell.waiting]).toEqual([before + 1, 3])
    bell.silence()
    await settle()
    expect([reads.length, bell.waiting]).toEqual([before + 1, 0])
    expect(tails.map(({ given }) => given)).toEqual([['end'], ['end'], ['end']])
  })

  test('of what was there before a stream began is nothing to it', async () => {
    const { tail, append, rollback } = stage()
    await append(12, at(12))
    rollback(9)
    const one = tail(at(9))
    one.pull()
    await settle()
    await append(10, at(10))
    expect(one.given).toEqual([[at(10)]])
    // Survived once, it is not held against it later.
    rollback(10)
    one.pull()
    await settle()
    await append(11, at(11))
    rollback(11)
    one.pull()
    await settle()
    expect(one.given).toEqual([[at(10)], [at(11)]])
  })

  test('of offers goes by when they were made, which their ids do not say', async () => {
    const offers = { query: catalogue.offersOfAccount, made: (token: string) => (token === '111' ? 12 : 10) }
    for (const [to, given] of [
      [11, [['110', '111', '112'], refused(11, 12)]],
      [12, [['110', '111', '112'], ['113']]],
    ] as const) {
      const { tail, append, rollback } = stage(offers)
      await append(12, '110', '111', '112')
      const one = tail()
      one.pull()
      await settle()
      rollback(to)
      one.pull()
      await settle()
      await append(13, '113')
      expect(one.given).toEqual(given)
    }
  })

  test('of any kind ends a stream of offers from a cursor, of which it cannot be known when it was made', async () => {
    const { tail, rollback } = stage({ query: catalogue.offersOfAccount })
    const one = tail('5')
    one.pull()
    await settle()
    rollback(8)
    await settle()
    expect(one.given).toEqual([refused(8, 9)])
  })
})

describe('a cursor that has to be looked up', () => {
  test('is waited for, by who pulls before it is there', async () => {
    const { reads, tail, append } = stage()
    await append(10, at(10), at(10, 2))
    let found = (_: string): void => {}
    const one = tail(new Promise<string>((resolve) => (found = resolve)))
    one.pull()
    await settle()
    expect(reads).toEqual([])
    found(at(10))
    await settle()
    expect([one.given, reads]).toEqual([[[at(10, 2)]], [at(10)]])
  })

  test('is not followed by a read that nobody asked for', async () => {
    const { reads, bell, tail, append } = stage()
    const one = tail(Promise.resolve(at(9)))
    await settle()
    await append(10, at(10))
    expect([reads, bell.waiting]).toEqual([[], 0])
    one.pull()
    await settle()
    expect(one.given).toEqual([[at(10)]])
  })

  test.each([false, true])('that cannot be found is an error, to who pulls later or before: %s', async (before) => {
    const { tail } = stage()
    const one = tail(Promise.reject(new Error('gone')))
    if (before) one.pull()
    await settle()
    if (!before) one.pull()
    await settle()
    expect(one.given).toEqual([new Error('gone')])
    one.pull()
    expect(one.given).toEqual([new Error('gone'), 'end'])
  })

  test('that cannot be found while history is taken back is answered with that', async () => {
    const { tail, settles, rollback } = stage()
    let end = (): void => {}
    settles(new Promise((resolve) => (end = resolve)))
    const one = tail(Promise.reject(new Error('gone')))
    one.pull()
    await settle()
    expect(one.given).toEqual([])
    rollback(8)
    end()
    await settle()
    expect(one.given).toEqual([['ROLLED_BACK', { last: 8, reached: 9 }]])
  })

  test('is waited for no longer by who has stopped', async () => {
    const { reads, bell, tail } = stage()
    let found = (_: string): void => {}
    const one = tail(new Promise<string>((resolve) => (found = resolve)))
    one.pull()
    one.one.stop()
    found(at(9))
    await settle()
    expect([one.given, reads, bell.waiting]).toEqual([['end'], [], 0])
  })
})

test('a signal ends a tail once, is let go of when the tail is over, and one given late ends it before anything is read', async () => {
  const { reads, tail } = stage()
  const controller = new AbortController()
  const [added, removed] = [vi.spyOn(controller.signal, 'addEventListener'), vi.spyOn(controller.signal, 'removeEventListener')]
  const [one, other] = [tail('', controller.signal), tail('', controller.signal)]
  one.pull()
  other.pull()
  await settle()
  one.one.stop()
  expect([added.mock.calls.length, removed.mock.calls.length]).toEqual([1, 0])
  other.one.stop()
  expect([added.mock.calls.length, removed.mock.calls.length]).toEqual([1, 1])
  expect(removed.mock.calls[0]!.slice(0, 2)).toEqual(added.mock.calls[0]!.slice(0, 2))
  const [third, fourth] = [tail('', controller.signal), tail('', controller.signal)]
  third.pull()
  fourth.pull()
  await settle()
  expect(added.mock.calls.length).toBe(2)
  controller.abort()
  controller.signal.dispatchEvent(new Event('abort'))
  expect([one, other, third, fourth].map(({ given }) => given)).toEqual([['end'], ['end'], ['end'], ['end']])
  const before = reads.length
  const late = tail('', controller.signal)
  expect([late.one.ended, added.mock.calls.length]).toEqual([true, 2])
  late.pull()
  await settle()
  expect([late.given, reads.length]).toEqual([['end'], before])
})
