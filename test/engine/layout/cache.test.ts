/** The cache of decoded values, and what hangs on them: what is kept, what is forgotten, what is counted. */
import { describe, expect, test } from 'vitest'
import { Cache } from '../../../src/layout/cache.ts'
import { Holder } from '../../../src/layout/holder.ts'

const weighing = (weight: number) => ({ weight })

describe('the cache', () => {
  test('counts what was there and what was not', () => {
    const cache = new Cache(100)
    const value = weighing(1)
    expect(cache.get('a')).toBeUndefined()
    cache.put('a', value)
    expect(cache.get('a')).toBe(value)
    expect(cache.get('a')).toBe(value)
    expect(cache.get('b')).toBeUndefined()
    expect([cache.maxBytes, cache.hits, cache.misses, cache.edition]).toEqual([100, 2, 2, 0])
  })

  test('keeps what fits into half of it, twice over', () => {
    const cache = new Cache(100)
    const [a, b, c] = [weighing(25), weighing(25), weighing(50)]
    cache.put('a', a)
    cache.put('b', b)
    // Half is full to the byte: nothing has been moved yet, so that a third one moves all of it at once.
    cache.put('c', c)
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([a, b, c])
    expect(cache.hits).toBe(3)
    // What was used since the move stays over the next one, what was not is forgotten.
    const second = new Cache(100)
    second.put('a', weighing(30))
    second.put('b', weighing(30))
    second.get('a')
    second.put('c', weighing(30))
    second.put('d', weighing(15))
    expect([second.get('a')?.weight, second.get('b')]).toEqual([30, undefined])
  })

  test('forgets the oldest first', () => {
    const cache = new Cache(10)
    for (let id = 0; id < 20; id++) cache.put(id, weighing(2))
    expect([cache.get(0), cache.get(13), cache.get(19)]).toEqual([undefined, undefined, weighing(2)])
  })

  test('counts a value that is put again once', () => {
    const cache = new Cache(100)
    const first = weighing(20)
    cache.put('first', first)
    for (let n = 0; n < 50; n++) cache.put('again', weighing(25))
    const last = weighing(5)
    cache.put('last', last)
    // Nothing was moved: 50 bytes are held.
    cache.put('x', weighing(0))
    expect(cache.get('first')).toBe(first)
    cache.put('one more', weighing(1))
    cache.put('and', weighing(51))
    expect(cache.get('first')).toBeUndefined()
  })

  test('gives the newer of two values, though the older one had grown old', () => {
    const cache = new Cache(10)
    const [old, newer] = [weighing(6), weighing(1)]
    cache.put('a', old)
    cache.put('a', newer)
    expect(cache.get('a')).toBe(newer)
    cache.delete('a')
    expect(cache.get('a')).toBeUndefined()
  })

  test('counts bytes that a value grows by', () => {
    const cache = new Cache(100)
    cache.put('a', weighing(10))
    cache.grew(40)
    cache.put('b', weighing(0))
    // 50 of 50: both young. One byte more makes both old, and another full half forgets them.
    cache.grew(1)
    cache.put('c', weighing(60))
    expect([cache.get('a'), cache.get('b')]).toEqual([undefined, undefined])
    const quiet = new Cache(100)
    quiet.put('a', weighing(10))
    quiet.grew(40)
    quiet.put('b', weighing(60))
    expect(quiet.get('a')?.weight).toBe(10)
  })

  test('what is deleted weighs nothing, young or old', () => {
    const cache = new Cache(100)
    const kept = weighing(10)
    cache.put('kept', kept)
    for (let n = 0; n < 20; n++) {
      cache.put('brief', weighing(40))
      cache.delete('brief')
      cache.delete('never there')
    }
    expect([cache.get('kept'), cache.get('brief')]).toEqual([kept, undefined])
    cache.put('more', weighing(41))
    cache.delete('kept')
    expect([cache.get('kept'), cache.get('more')?.weight]).toEqual([undefined, 41])
    // 41 bytes were moved, and are young again since they were asked for: ten more bytes fill the half.
    cache.put('x', weighing(9))
    cache.put('y', weighing(0))
    cache.put('z', weighing(51))
    expect(cache.get('more')?.weight).toBe(41)
  })

  test('holds nothing once it is cleared, and says that what was read before may be old', () => {
    const cache = new Cache(100)
    cache.put('old', weighing(40))
    cache.put('older', weighing(11))
    cache.put('young', weighing(40))
    cache.clear()
    expect([cache.get('old'), cache.get('young'), cache.edition]).toEqual([undefined, undefined, 1])
    // Its bytes are counted from nothing.
    cache.put('a', weighing(50))
    cache.put('b', weighing(51))
    expect(cache.get('a')?.weight).toBe(50)
    cache.clear()
    expect(cache.edition).toBe(2)
  })
})

describe('what hangs on a value', () => {
  test('is made once, and weighs', () => {
    const holder = new Holder(100)
    const grown: number[] = []
    expect([holder.weight, holder.attached('page')]).toEqual([100, undefined])
    const made = holder.attach(
      'page',
      () => ({ text: 'x' }),
      ({ text }) => 20 + text.length,
    )
    expect([made.text, holder.weight, holder.attached('page')]).toEqual(['x', 121, made])
    holder.grew = (bytes) => grown.push(bytes)
    const again = holder.attach(
      'page',
      () => ({ text: 'other' }),
      () => 1000,
    )
    expect([again, holder.weight, grown]).toEqual([made, 121, []])
    holder.attach(
      'more',
      () => 'y',
      () => 7,
    )
    expect([holder.attached('page'), holder.attached('more'), holder.weight, grown]).toEqual([made, 'y', 128, [7]])
  })
})
