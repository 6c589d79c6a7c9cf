/** Byte helpers: what is written comes back in its place, however much room there was; digests have their published values. */
import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import {
  compare,
  compareTexts,
  concat,
  copy,
  crc32,
  equal,
  hex,
  portableCrc32,
  Region,
  SLACK,
  same,
  text,
  unhex,
  utf8,
  VarintReader,
  Writer,
  writeAscii,
  writeText,
} from '../../../src/bytes.ts'
import { badRequest } from '../../../src/check.ts'
import { FolioError, invalidInput } from '../../../src/errors.ts'
import { hasher, portableHasher, sha256 } from '../../../src/sha256.ts'
import type { Store } from '../../../src/store.ts'
import * as stores from '../../../src/store.ts'

const bytes = (...all: number[]): Uint8Array => Uint8Array.from(all)

describe('bytes', () => {
  test('are read as UTF-8, whole or in part', () => {
    const all = utf8('aé€𝄞')
    expect(Array.from(all)).toEqual([97, 0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xf0, 0x9d, 0x84, 0x9e])
    expect([text(all), text(all, 1), text(all, 1, 3), text(all, 3, 6), text(all, 4, 4)]).toEqual(['aé€𝄞', 'é€𝄞', 'é', '€', ''])
  })

  test('compare unsigned, a prefix first', () => {
    expect([compare(bytes(1), bytes(255)), compare(bytes(1, 0), bytes(1)), compare(bytes(), bytes())].map(Math.sign)).toEqual([-1, 1, 0])
    expect([equal(bytes(1, 2), bytes(1, 2)), equal(bytes(1, 2), bytes(1, 3)), equal(bytes(1, 2), bytes(1))]).toEqual([true, false, false])
    expect([same(undefined, undefined), same(bytes(1), undefined), same(undefined, bytes(1)), same(bytes(1), bytes(1))]).toEqual([
      true,
      false,
      false,
      true,
    ])
    expect(same(bytes(1), bytes(2))).toBe(false)
  })

  test('of texts compare without being encoded', () => {
    const letters = ['a', 'z', '\u007f', 'é', '\ud7ff', '\ue000', '\uffff', '𝄞', '\u{10ffff}', '\ud834', '\udd1e']
    const texts = ['', ...letters.flatMap((one) => [one, `a${one}`, ...letters.map((other) => one + other)])]
    for (const one of texts)
      for (const other of texts) {
        // A lone surrogate is encoded as U+FFFD, so two that differ may have the same bytes.
        const wanted = Math.sign(compare(utf8(one), utf8(other)))
        expect(Math.sign(compareTexts(one, other)), JSON.stringify([one, other])).toBe(wanted)
      }
  })

  test('are written in hexadecimal, and read in either case', () => {
    const all = Uint8Array.from({ length: 256 }, (_, n) => n)
    expect(hex(all)).toBe(Buffer.from(all).toString('hex'))
    expect(Array.from(unhex(hex(all)))).toEqual(Array.from(all))
    expect(Array.from(unhex(hex(all).toUpperCase()))).toEqual(Array.from(all))
    expect([hex(bytes()), unhex('').length]).toEqual(['', 0])
  })

  test('have the published checksum, also in parts', () => {
    for (const sum of [crc32, portableCrc32]) {
      expect(sum(utf8('123456789'))).toBe(0xcbf43926)
      expect(sum(utf8('6789'), sum(utf8('12345')))).toBe(0xcbf43926)
      expect(sum(bytes())).toBe(0)
    }
    expect(portableCrc32(utf8('xx123456789x'), 0, 2, 11)).toBe(0xcbf43926)
  })
})

describe.each<[how: string, given: unknown]>([
  ['without Buffer', undefined],
  ['whose Buffer is not that of Node', class extends Uint8Array {}],
  ['whose Buffer is no class at all', { isBuffer: () => false }],
])('on a platform %s', (_, given) => {
  let portable: typeof import('../../../src/bytes.ts')
  let store: Store
  beforeAll(async () => {
    const { Buffer } = globalThis
    // The same files, loaded once more.
    vi.resetModules()
    Object.assign(globalThis, { Buffer: given })
    try {
      portable = await import('../../../src/bytes.ts')
      store = (await import('../../../adapters/memory/index.ts')).memory()
    } finally {
      Object.assign(globalThis, { Buffer })
    }
  })

  test('a store in memory keeps bytes', async () => {
    const [key, value] = [bytes(0, 128, 255), bytes(255, 0)]
    await store.write([[key, value]], { durable: false })
    expect(await store.get(key)).toEqual(value)
    expect(await store.scan({ gte: bytes(), lt: bytes(255) }, { limit: 2 })).toEqual({ entries: [[key, value]], more: false })
  })

  test('text is read and written the same', () => {
    const all = utf8('aé€𝄞')
    const { text, Writer } = portable
    expect([text(all), text(all, 1), text(all, 1, 3), text(all, 4, 4), text(utf8('\ufeffa'))]).toEqual(['aé€𝄞', 'é€𝄞', 'é', '', '\ufeffa'])
    for (const capacity of [1, 9, 10, 100]) {
      const out = new Writer(capacity)
      expect(out.text('aé€𝄞')).toBe(10)
      expect(out.text('b')).toBe(1)
      const taken = out.take()
      out.u8(9)
      expect([text(taken), out.length]).toEqual(['aé€𝄞b', 1])
    }
  })

  test('text has its place among other bytes', () => {
    for (const write of [{ writeAscii, writeText }, portable])
      for (const value of ['', 'a', 'x'.repeat(24), 'y'.repeat(25)]) {
        const out = new Uint8Array(30)
        expect([write.writeAscii(out, 2, value), text(out, 2, 2 + value.length), out[1], out[2 + value.length]]).toEqual([
          value.length,
          value,
          0,
          0,
        ])
        expect([write.writeText(out, 1, `é${value}`), text(out, 1, 3 + value.length), out[0]]).toEqual([2 + value.length, `é${value}`, 0])
      }
  })

  test('bytes compare the same', () => {
    const keys = [[], [0], [0, 0], [0, 255], [1], [127], [128], [128, 0], [255], [255, 255]].map((one) => bytes(...one))
    for (const [a, one] of keys.entries())
      for (const [b, other] of keys.entries()) {
        expect(Math.sign(portable.compare(one, other))).toBe(Math.sign(a - b))
        expect(portable.equal(one, other)).toBe(a === b)
      }
  })
})

test('pieces are joined in order, and one alone is given as it is', () => {
  const one = bytes(1, 2)
  expect(concat([one])).toBe(one)
  expect([concat([]), concat([one, bytes(), bytes(3), one])]).toEqual([bytes(), bytes(1, 2, 3, 1, 2)])
})

describe('a writer', () => {
  /** Writes everything that a writer can write, twice. */
  const fill = (out: Writer): void => {
    for (let round = 0; round < 2; round++) {
      out.u8(7)
      out.varint(300)
      out.raw(bytes(1, 2, 3))
      expect(out.text('é!')).toBe(3)
      expect(out.text('')).toBe(0)
    }
  }
  const once = '07' + 'ac02' + '010203' + 'c3a921'

  test.each([0, 1, 2, 5, 8, 9, 10, 17, 18, 19, 256, 70_000])('that begins with room for %i bytes writes the same', (capacity) => {
    const out = new Writer(capacity)
    fill(out)
    expect(hex(out.finish())).toBe(once + once)
  })

  test('has as much room as was asked for, and at least doubles it when it needs more', () => {
    const out = new Writer(10)
    expect(out.bytes.length).toBe(10)
    out.reserve(10)
    expect(out.bytes.length).toBe(10)
    out.raw(bytes(1, 2, 3))
    out.reserve(8)
    expect(out.bytes.length).toBe(20)
    out.reserve(100)
    expect(out.bytes.length).toBe(103)
    expect(Array.from(out.finish())).toEqual([1, 2, 3])
    expect(new Writer().bytes.length).toBe(256)
    for (const capacity of [60_000, 60_000, 60_000, 60_000, 60_000, 300_000, 60_000])
      expect(new Writer(capacity).bytes.length).toBe(capacity)
  })

  test('writes text into the room that is left', () => {
    const out = new Writer(12)
    out.text('ab')
    // Three letters are sure to fit, four fit only because they are short; neither needs more room.
    out.text('cde')
    out.text('fghi')
    expect(out.bytes.length).toBe(12)
    out.text('€€')
    expect([text(out.finish()), out.length]).toEqual(['abcdefghi€€', 15])
  })

  test.each([
    [0, '00'],
    [127, '7f'],
    [128, '8001'],
    [16383, 'ff7f'],
    [2 ** 32, '8080808010'],
    [Number.MAX_SAFE_INTEGER, 'ffffffffffffff0f'],
  ])('writes %i as a varint', (value, wanted) => {
    const out = new Writer(1)
    out.varint(value)
    expect(hex(out.finish())).toBe(wanted)
    expect(new VarintReader(unhex(wanted)).next()).toBe(value)
    expect(new VarintReader(unhex(`ff${wanted}`), 1).next()).toBe(value)
  })

  test('that is used again gives copies', () => {
    const out = new Writer(8)
    out.text('one')
    const first = out.take()
    out.text('two!')
    const second = out.take()
    expect([text(first), text(second), out.length, first.length]).toEqual(['one', 'two!', 0, 3])
  })

  test('shares no bytes with another, whichever is finished first', () => {
    const sizes = [3, 1, 0, 17, 64 * 1024, 200, 64 * 1024 - 1, 100_000, 65_537, 9]
    for (const order of [1, -1]) {
      // More than fit in one slab, so that the slab changes on the way.
      const writers = Array.from({ length: 60 }, (_, n) => ({ out: new Writer(sizes[n % sizes.length]), n }))
      const values = writers
        .sort((a, b) => order * (a.n - b.n))
        .map(({ out, n }) => {
          for (let at = 0; at < n % 9; at++) out.u8(n)
          return { value: out.finish(), n }
        })
      const more = Array.from({ length: 60 }, (_, n) => {
        const out = new Writer(5)
        out.raw(bytes(255, 255, 255, 255, n))
        return out.finish()
      })
      for (const { value, n } of values) expect(Array.from(value)).toEqual(Array(n % 9).fill(n))
      for (const [n, value] of more.entries()) expect(Array.from(value)).toEqual([255, 255, 255, 255, n])
    }
  })

  test('gives back room that it did not need', () => {
    new Writer(40_000).finish()
    const before = new Writer(100)
    before.u8(1)
    const value = before.finish()
    const next = new Writer(100)
    expect(next.bytes.byteOffset - value.byteOffset).toBe(1)
    // Behind another one it cannot.
    const last = new Writer(10)
    next.finish()
    expect(new Writer(10).bytes.byteOffset).toBe(last.bytes.byteOffset + 10)
    // Where it had to grow, the room it began with is not its own any more.
    const small = new Writer(4)
    const at = small.bytes.byteOffset
    small.raw(bytes(1, 2, 3, 4, 5))
    expect(Array.from(small.finish())).toEqual([1, 2, 3, 4, 5])
    expect(new Writer(4).bytes.byteOffset).toBe(at + 4)
  })
})

describe('a copy', () => {
  test.each([0, 1, 2, 3, 4, 5, 7, 8, 127, 128, 129, 130, 131, 132, 133, 1000])(
    'of %i bytes is complete, and ends where it says',
    (length) => {
      const source = Region.padded(Uint8Array.from({ length: length + 5 }, (_, n) => 1 + (n % 250)))
      const out = new Region(new Uint8Array(length + 2 + SLACK))
      expect(copy(out, 2, source, 5, length)).toBe(2 + length)
      expect(Array.from(out.bytes.subarray(2, 2 + length))).toEqual(Array.from({ length }, (_, n) => 1 + ((n + 5) % 250)))
      expect(Array.from(out.bytes.subarray(0, 2))).toEqual([0, 0])
    },
  )

  test('can be made of bytes amid others, if there is room after them', () => {
    for (const behind of [0, 1, 2, 3, 9]) {
      const around = new Uint8Array(20 + 5 + behind).fill(7)
      around.set([1, 2, 3, 4, 5], 20)
      const region = new Region(around.subarray(20, 25))
      expect(region.view.byteLength).toBe(5 + Math.min(SLACK, behind))
      expect([region.view.byteOffset, region.bytes.length]).toEqual([20, 5])
    }
    expect(Region.padded(bytes(1, 2)).view.byteLength).toBe(2 + SLACK)
  })
})

describe('a varint', () => {
  test('that ends early or is too long is not a number', () => {
    expect(new VarintReader(bytes()).next()).toBeNaN()
    expect(new VarintReader(bytes(0x80)).next()).toBeNaN()
    for (const length of [8, 9, 20]) expect(new VarintReader(bytes(...Array(length).fill(0xff), 1)).next()).toBeNaN()
    expect(new VarintReader(unhex('ffffffffffffff0f')).next()).toBe(Number.MAX_SAFE_INTEGER)
  })

  test('is read after another', () => {
    const input = new VarintReader(unhex('0180027f'))
    expect([input.next(), input.at, input.next(), input.at, input.next(), input.at]).toEqual([1, 1, 256, 3, 127, 4])
  })
})

describe('SHA-256', () => {
  const wanted = (data: Uint8Array) => createHash('sha256').update(data).digest('hex')

  test.each([0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 128, 1000])('of %i bytes, in one piece and in several', (length) => {
    const data = Uint8Array.from({ length }, (_, n) => (n * 31 + 7) & 255)
    for (const make of [hasher, portableHasher])
      for (const step of [1, 7, 63, 64, 65, length || 1]) {
        const all = make()
        for (let at = 0; at < length; at += step) all.update(data.subarray(at, at + step))
        expect(hex(all.digest())).toBe(wanted(data))
      }
  })

  test('of more than 2^29 bytes counts its bits past 32', () => {
    const all = portableHasher()
    // The counter says how many bytes were hashed; the state is still that of no bytes.
    Object.assign(all, { length: 2 ** 29 + 64 })
    const other = portableHasher()
    Object.assign(other, { length: 64 })
    expect(hex(all.digest())).not.toBe(hex(other.digest()))
  })

  test('of text is that of its UTF-8 bytes', () => {
    expect(hex(sha256('abc'))).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
    expect(hex(sha256('é€'))).toBe(wanted(utf8('é€')))
  })
})

describe('an error', () => {
  test('says its sentence and its fields', () => {
    const plain = new FolioError('CLOSED')
    expect([plain.name, plain.code, plain.fields, plain.cause]).toEqual(['FolioError', 'CLOSED', {}, undefined])
    expect('cause' in plain).toBe(false)
    expect(plain.message.endsWith('.')).toBe(true)
    const cause = new Error('disk')
    const full = new FolioError('CORRUPT', { key: '00', gone: undefined, count: 0, id: 5n, known: false }, cause)
    expect(full.message.endsWith('. (key: 00, count: 0, id: 5, known: false)')).toBe(true)
    expect(full.cause).toBe(cause)
    expect(new FolioError('CORRUPT', { gone: undefined }).message.includes('(')).toBe(false)
  })

  test('is worth another try or not, and has a status', () => {
    const of = (code: ConstructorParameters<typeof FolioError>[0]) => [new FolioError(code).retry, new FolioError(code).status]
    expect([of('CLOSED')[0], of('STORE_LOCKED')[0], of('STORE_FAILED')[0]]).toEqual([true, true, true])
    expect([of('CORRUPT'), of('BAD_REQUEST'), of('NOT_FOUND')]).toEqual([
      [false, 500],
      [false, 400],
      [false, 404],
    ])
  })

  test('about a parameter or a member names it', () => {
    expect(badRequest('limit', 'small')).toMatchObject({ code: 'BAD_REQUEST', fields: { field: 'limit', reason: 'small' } })
    expect(invalidInput(7, 'a.b', 'a text')).toMatchObject({
      code: 'INVALID_INPUT',
      fields: { ledger: 7, path: 'a.b', expected: 'a text' },
    })
  })
})

describe('what stores share', () => {
  const range = { gte: bytes(1), lt: bytes(2) }

  test('a scan must have both bounds and a whole limit', () => {
    const misuse = (reason: string) => expect.objectContaining({ code: 'STORE_MISUSE', fields: { reason } })
    const bounds = misuse('a scan needs both bounds, as bytes')
    const limits = misuse('a scan needs a whole limit of 1 or more')
    stores.checkScan(range, { limit: 1 })
    for (const wrong of [{ gte: range.gte }, { lt: range.lt }, { gte: 'a', lt: 'b' }, {}])
      expect(() => stores.checkScan(wrong as never, { limit: 1 })).toThrow(bounds)
    for (const limit of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, undefined])
      expect(() => stores.checkScan(range, { limit } as never)).toThrow(limits)
  })

  test('a range is empty if it ends before or where it begins', () => {
    expect([
      stores.isEmptyRange(range),
      stores.isEmptyRange({ gte: bytes(2), lt: bytes(2) }),
      stores.isEmptyRange({ gte: bytes(3), lt: bytes(2) }),
    ]).toEqual([false, true, true])
  })

  test('a value continues at once, a promise when it resolves', async () => {
    expect(stores.after(2, (n) => n + 1)).toBe(3)
    const later = stores.after(Promise.resolve(2), (n) => n + 1)
    expect([stores.isPromise(later), await later]).toEqual([true, 3])
    expect([undefined, null, 0, {}, [1]].map((one) => stores.isPromise(one as never))).toEqual([false, false, false, false, false])
  })
})
