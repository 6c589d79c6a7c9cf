/** When a read is run again: removals and other processes are told from damage and from records that do not exist. */
import { describe, expect, test } from 'vitest'
import { FolioError, type Resource } from '../../../src/index.ts'
import { offers } from '../../../src/resources/offer.ts'
import { type HistoryWriter, type ReadableHistory, Reads } from '../../../src/scan/ask.ts'
import { codeOf } from '../../support/errors.ts'

const own = { shared: false }
const shared = { shared: true }

/** History and its writer in one, which answers as it is told to, and notes what it is asked. */
function writer(
  told: { removals?: number; stands?: readonly boolean[]; refreshed?: (it: any) => void; stepped?: (it: any) => void; late?: boolean } = {},
) {
  const stands = [...(told.stands ?? [])]
  const it = {
    removals: told.removals ?? 0,
    head: {},
    notes: [] as string[],
    reader() {
      const { head } = it
      const reader = {
        head,
        run: (read: (one: unknown) => unknown) => (told.late ? Promise.resolve().then(() => read(reader)) : read(reader)),
        confirm: () => it.notes.push('confirm'),
      }
      it.notes.push('read')
      return reader
    },
    async stepped() {
      it.notes.push('stepped')
      told.stepped?.(it)
    },
    stands() {
      it.notes.push('stands?')
      return stands.shift() ?? true
    },
    async refresh() {
      it.notes.push('refresh')
      told.refreshed?.(it)
      return true
    },
  }
  return it as typeof it & HistoryWriter & ReadableHistory
}
const ask = <T>(one: HistoryWriter & ReadableHistory, { shared }: typeof own, read: () => T, of?: Resource) =>
  new Reads(one, one, shared).ask(read, of)
const corrupt = (): never => {
  throw new FolioError('CORRUPT', { key: '00' })
}
const missing = (): never => {
  throw new FolioError('NOT_FOUND')
}
/** A read with one outcome per attempt; the last one repeats. */
const attempts = (...each: (() => unknown)[]): (() => unknown) => {
  let at = 0
  return () => each[Math.min(at++, each.length - 1)]!()
}

describe('over a store of its own', () => {
  test('an answer is passed on unchanged, at once or when it comes', async () => {
    const one = writer()
    expect(ask(one, own, () => 5)).toBe(5)
    expect(one.notes).toEqual(['read'])
    const answer = ask(writer({ late: true }), own, () => 6)
    expect([answer instanceof Promise, await answer]).toEqual([true, 6])
  })

  test('an error that is no sign of a removal is thrown, at once or when it comes', async () => {
    const broken = new TypeError('bug')
    const bug = () => {
      throw broken
    }
    for (const ground of [own, shared]) expect(() => ask(writer({ removals: 1 }), ground, bug)).toThrow(broken)
    await expect(ask(writer({ late: true, removals: 1 }), own, bug)).rejects.toBe(broken)
    expect(() => ask(writer(), own, corrupt)).toThrow(expect.objectContaining({ code: 'CORRUPT' }))
    expect(() => ask(writer({ removals: 2 }), own, corrupt)).toThrow(expect.objectContaining({ code: 'CORRUPT' }))
    expect(() => ask(writer({ removals: 1 }), own, missing)).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }))
    expect(await codeOf(() => ask(writer({ late: true }), own, corrupt))).toBe('CORRUPT')
  })

  test('what was not found while history was rolled back is looked for again', async () => {
    const one = writer({ late: true })
    const moved = () => {
      one.removals += 2
      return missing()
    }
    const answer = ask(
      one,
      own,
      attempts(moved, () => 8),
    )
    expect([await answer, one.notes]).toEqual([8, ['read', 'stepped', 'read']])
  })

  test('what looks like damage during a removal is read again after it', async () => {
    const begun = writer({ removals: 1, stepped: (it) => it.removals++ })
    expect(
      await ask(
        begun,
        own,
        attempts(corrupt, () => 7),
      ),
    ).toBe(7)
    expect(begun.notes).toEqual(['read', 'stepped', 'read'])
    const during = writer()
    const moved = () => {
      during.removals += 2
      return corrupt()
    }
    expect(
      await ask(
        during,
        own,
        attempts(moved, () => 8),
      ),
    ).toBe(8)
    expect(await codeOf(() => ask(writer({ removals: 1, stepped: (it) => it.removals++ }), own, corrupt))).toBe('CORRUPT')
  })
})

test('a read during which history was rolled back is run again', async () => {
  const one = writer({ late: true })
  const moved = () => {
    one.removals += 2
    return 1
  }
  expect(
    await ask(
      one,
      own,
      attempts(moved, () => 2),
    ),
  ).toBe(2)
  expect(one.notes).toEqual(['read', 'read'])
})

test('the book is read only while no removal is in flight', async () => {
  const one = writer({ removals: 1, stepped: (it) => it.removals++ })
  expect(await ask(one, own, () => 3, offers)).toBe(3)
  expect(one.notes).toEqual(['stepped', 'read'])
})

describe('over a shared store', () => {
  test('an answer counts once the head is known to stand, and is cached only under that head', async () => {
    const one = writer()
    expect(ask(one, shared, () => 5)).toBe(5)
    expect(one.notes).toEqual(['read', 'stands?', 'confirm'])
    const grown = writer()
    const answer = () => {
      Object.assign(grown, { head: {} })
      return 6
    }
    expect([ask(grown, shared, answer), grown.notes]).toEqual([6, ['read', 'stands?']])
  })

  test('an answer is kept if history has only grown, and the read is run again if it was rolled back', async () => {
    const grew = writer({ stands: [false] })
    expect(
      await ask(
        grew,
        shared,
        attempts(
          () => 1,
          () => 2,
        ),
      ),
    ).toBe(1)
    expect(grew.notes).toEqual(['read', 'stands?', 'refresh'])
    const back = writer({ stands: [false, true], refreshed: (it) => (it.removals += 2) })
    expect(
      await ask(
        back,
        shared,
        attempts(
          () => 1,
          () => 2,
        ),
      ),
    ).toBe(2)
    expect(back.notes).toEqual(['read', 'stands?', 'refresh', 'read', 'stands?', 'confirm'])
  })

  test('a failed read is run again only if history was rolled back', async () => {
    for (const failure of [missing, corrupt]) {
      expect(await codeOf(() => ask(writer(), shared, failure))).toBe(failure === missing ? 'NOT_FOUND' : 'CORRUPT')
      const same = writer({ stands: [false] })
      expect(await codeOf(() => ask(same, shared, failure))).toBe(failure === missing ? 'NOT_FOUND' : 'CORRUPT')
      const grown = writer({ stands: [false], refreshed: (it) => (it.head = {}) })
      expect(await codeOf(() => ask(grown, shared, failure))).toBe(failure === missing ? 'NOT_FOUND' : 'CORRUPT')
      const moved = writer({ stands: [false], refreshed: (it) => (it.removals += 2) })
      expect(
        await ask(
          moved,
          shared,
          attempts(failure, () => 9),
        ),
      ).toBe(9)
      expect(moved.notes).toEqual(['read', 'stands?', 'refresh', 'read', 'stands?', 'confirm'])
    }
  })
})
