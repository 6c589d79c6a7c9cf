/** Walks and streams over pages that come when the test says so: when and in which order pulls are answered, and what is read after one was left. */
import { expect, test } from 'vitest'
import type { RawPage } from '../../src/index.ts'
import { TailStream } from '../../src/stream/stream.ts'
import type { Tail, Taker } from '../../src/stream/tail.ts'
import { Walk } from '../../src/stream/walk.ts'
import { turns } from '../support/turns.ts'

const done = { done: true, value: undefined }

/** A walk over `pages`, each of which comes when it is released, and the pages that were asked for. */
function held(...pages: readonly (readonly string[] | Error)[]) {
  const asked: (() => void)[] = []
  let tidied = 0
  const walk = new Walk(
    (async function* () {
      try {
        for (const page of pages) {
          await new Promise<void>((resolve) => asked.push(resolve))
          if (page instanceof Error) throw page
          yield { records: page }
        }
      } finally {
        tidied++
      }
    })(),
  )
  const come = async (at: number): Promise<void> => {
    await turns()
    asked[at]!()
    await turns()
  }
  return { walk, come, asked, tidied: () => tidied }
}

const inOneTurn = async <T>(pulled: Promise<T>): Promise<T | undefined> => {
  let given: T | undefined
  void pulled.then((value) => {
    given = value
  })
  await Promise.resolve()
  return given
}

test('records at hand are given in one turn, and those of the next page when it comes', async () => {
  const { walk, come, asked } = held(['a', 'b', 'c'], [], ['d', 'e'])
  const first = walk.next()
  expect(await inOneTurn(first)).toBeUndefined()
  await come(0)
  expect(await first).toEqual({ done: false, value: 'a' })
  expect(await inOneTurn(walk.next())).toEqual({ done: false, value: 'b' })
  expect(await inOneTurn(walk.next())).toEqual({ done: false, value: 'c' })
  expect(asked).toHaveLength(1)
  const next = walk.next()
  expect(await inOneTurn(next)).toBeUndefined()
  // An empty page is skipped.
  await come(1)
  await come(2)
  expect(await next).toEqual({ done: false, value: 'd' })
  expect(await inOneTurn(walk.next())).toEqual({ done: false, value: 'e' })
  expect(await walk.next()).toEqual(done)
  expect(await walk.next()).toEqual(done)
})

test('a pull while others wait is answered after them', async () => {
  const { walk, come } = held(['a', 'b', 'c', 'd'])
  let third: Promise<{ value?: unknown }> | undefined
  const first = walk.next()
  void first.then(() => {
    third = walk.next()
  })
  const second = walk.next()
  await come(0)
  expect((await Promise.all([first, second, third])).map((given) => given?.value)).toEqual(['a', 'b', 'c'])
  expect(await inOneTurn(walk.next())).toEqual({ done: false, value: 'd' })
})

test('a walk that is left while a page is in flight gives nothing of it, nor of the page before', async () => {
  const { walk, come, tidied } = held(['a', 'b'], ['c'], ['d'])
  const first = walk.next()
  await come(0)
  expect(await first).toEqual({ done: false, value: 'a' })
  await walk.next()
  const waiting = [walk.next(), walk.next()]
  await turns()
  const left = walk.return()
  await come(1)
  expect(await left).toEqual(done)
  expect(await Promise.all(waiting)).toEqual([done, done])
  expect([await walk.next(), tidied()]).toEqual([done, 1])
  const other = held(['a', 'b'], ['c'])
  const pulled = other.walk.next()
  await other.come(0)
  await pulled
  expect(await other.walk.return()).toEqual(done)
  expect([await other.walk.next(), other.asked.length, other.tidied()]).toEqual([done, 1, 1])
})

test('a page that cannot be read fails one pull, and ends the walk for the pulls after it', async () => {
  const { walk, come } = held(['a'], new Error('gone'))
  const first = walk.next()
  await come(0)
  await first
  const waiting = [walk.next(), walk.next()]
  for (const one of waiting) one.catch(() => {})
  await come(1)
  await expect(waiting[0]).rejects.toThrow('gone')
  expect([await waiting[1], await walk.next()]).toEqual([done, done])
})

test('a walk that goes out of scope reads no further', async () => {
  const { walk, come, asked, tidied } = held(['a', 'b'], ['c'])
  {
    await using within = walk
    const first = within.next()
    await come(0)
    expect(await first).toEqual({ done: false, value: 'a' })
    expect(within[Symbol.asyncIterator]()).toBe(walk)
  }
  expect([await walk.next(), asked.length, tidied()]).toEqual([done, 1, 1])
})

/** A stream of the items of pages that the test hands over; an empty item cannot be shown. */
function stream() {
  const pulls: Taker[] = []
  const tail = {
    ended: false,
    pull: (taker: Taker) => void pulls.push(taker),
    stop() {
      tail.ended = true
    },
  }
  const show = (item: string): string => {
    if (item === '') throw new Error('nothing to show')
    return item.toUpperCase()
  }
  const items = (page: RawPage): readonly string[] => page as unknown as readonly string[]
  const stream = new TailStream<string, string>(tail as unknown as Tail, items, show)
  return { stream, pulls, tail, page: (...page: string[]) => pulls.at(-1)!.page(page as unknown as RawPage) }
}

test('a stream asks its tail for one page at a time, however many pulls wait, and for none while it has records', async () => {
  const { stream: records, pulls, page } = stream()
  const given = [records.next(), records.next(), records.next()]
  expect(pulls).toHaveLength(1)
  page('a', 'b')
  expect(pulls).toHaveLength(2)
  page('c', 'd')
  expect(await Promise.all(given)).toEqual(['A', 'B', 'C'].map((value) => ({ done: false, value })))
  expect(await records.next()).toEqual({ done: false, value: 'D' })
  expect(pulls).toHaveLength(2)
  await records.return()
  expect(await records.next()).toEqual(done)
})

test('a record that cannot be shown fails its pull, and ends the stream', async () => {
  const { stream: records, page, tail } = stream()
  const given = [records.next(), records.next(), records.next()]
  for (const one of given) one.catch(() => {})
  page('a', '', 'c')
  expect(await given[0]).toEqual({ done: false, value: 'A' })
  await expect(given[1]).rejects.toThrow('nothing to show')
  expect([await given[2], await records.next(), tail.ended]).toEqual([done, done, true])
})

test('a stream that fails while no pull waits throws nothing', async () => {
  const { stream: records, tail } = stream()
  tail.stop()
  expect(() => records.fail(new Error('gone'))).not.toThrow()
  expect(await records.next()).toEqual(done)
})
