/** Keys, seals and the small values under them, byte by byte, as stores on disk hold them. */
import { describe, expect, test } from 'vitest'
import { crc32, hex, utf8 } from '../../../src/bytes.ts'
import { DIGEST_BYTES, decodeDigest, encodeDigest } from '../../../src/layout/digest.ts'
import { decodeHash, encodeHash } from '../../../src/layout/hash.ts'
import {
  checkFormat,
  decodeEra,
  decodeHead,
  decodeHighWater,
  decodeIntent,
  decodePruned,
  decodeText,
  emptyHead,
  encodeEra,
  encodeFormat,
  encodeHead,
  encodeHighWater,
  encodeIntent,
  encodePruned,
  encodeText,
  fingerprint,
  type Head,
  kindOf,
} from '../../../src/layout/head.ts'
import {
  ALL_KEYS,
  baseKey,
  blockKey,
  blockRange,
  bookKey,
  bookRange,
  bookSellerKey,
  CONTENT_KEYS,
  digestKey,
  digestRange,
  FORMAT,
  HEAD,
  hashKey,
  indexKey,
  isHashKey,
  KIND,
  keysOf,
  kindOfKey,
  pageRange,
  postingKey,
  postingPageKey,
} from '../../../src/layout/keys.ts'
import { FORMAT_VERSION, payloadOf, SEAL_BYTES, seal, sumOf, unseal } from '../../../src/layout/seal.ts'
import type { Resource } from '../../../src/query.ts'

const refusal = (code: string, fields: object) => expect.objectContaining({ code, fields })
/** Texts and numbers of a key as the tuple codec writes them. */
const A = '024100'
const long = (n: bigint) => `15${n.toString(16).padStart(16, '0')}`

test.each([
  ['a block', () => blockKey(3, 5), '1003000000000005'],
  ['a far block', () => blockKey(7, 0x123456789abc), '1007123456789abc'],
  ['a block past 32 bits', () => blockKey(255, 2 ** 32), '10ff000100000000'],
  ['a posting list', () => postingKey(9, ['A', 258n]), `2009${A}${long(258n)}`],
  ['a posting list without a key', () => postingKey(4, []), '2004'],
  ['a page of a posting list', () => postingPageKey(9, ['A'], 2, 0xfffefdfcfbfa), `2109${A}02fffefdfcfbfa`],
  ['all lists of an index', () => indexKey(11), '200b'],
  ['a transaction by its hash', () => hashKey('0aF1'.repeat(16)), `30${'0af1'.repeat(16)}`],
  ['an offer of the book', () => bookKey('A', 2n ** 63n - 1n), `40${A}157fffffffffffffff`],
  ['the seller of an offer', () => bookSellerKey(7n), `41${long(7n)}`],
  ['the last change of an offer', () => baseKey(7n), `42${long(7n)}`],
  ['the digest of a ledger', () => digestKey(0x01020304), '5001020304'],
])('the key of %s', (_, make, wanted) => {
  expect(hex(make())).toBe(wanted)
  // Made again after other keys, it is the same: nothing of one key is left over in the next.
  expect(hex(make())).toBe(wanted)
})

test('what a key left behind that could not be made is not in the next one', () => {
  const none = undefined as unknown as bigint
  const makes = [
    () => blockKey(3, 5),
    () => postingKey(4, []),
    () => postingPageKey(9, ['A'], 2, 3),
    () => bookKey('A', 7n),
    () => bookSellerKey(7n),
    () => baseKey(7n),
    () => digestKey(9),
  ]
  for (const make of makes) {
    const wanted = hex(make())
    expect(() => bookKey('A', none)).toThrow(TypeError)
    expect(hex(make())).toBe(wanted)
  }
})

test.each([
  ['all keys', ALL_KEYS, '', 'ff'.repeat(64)],
  ['all but what an empty store has', CONTENT_KEYS, '03', 'ff'],
  ['a kind', keysOf(KIND.hash), '30', '31'],
  ['adjacent kinds', keysOf(KIND.book, KIND.seller), '40', '42'],
  ['the blocks of a log', blockRange(3), '1003000000000000', '1004000000000000'],
  ['the first blocks of a log', blockRange(3, 258), '1003000000000000', '1003000000000102'],
  ['the pages of a list', pageRange(9, ['A']), `2109${A}00000000000000`, `2109${A}ff000000000000`],
  ['digests', digestRange(0, 2 ** 31), '5000000000', '5080000000'],
])('the range of %s', (_, range, gte, lt) => {
  expect([hex(range.gte), hex(range.lt)]).toEqual([gte, lt])
})

test('the kind of a key is its first byte, and a key of a hash has one length', () => {
  expect([HEAD, FORMAT, hashKey('ab'.repeat(32)), new Uint8Array(0)].map(kindOfKey)).toEqual([0, 1, KIND.hash, -1])
  expect([32, 33, 34].map((length) => isHashKey(new Uint8Array(length)))).toEqual([false, true, false])
})

test('a range of offers of a seller lies between their keys', () => {
  const { gte, lt } = bookRange('A', 3n, 9n)
  expect([hex(gte), hex(lt)]).toEqual([`40${A}${long(3n)}`, `40${A}${long(9n)}`])
})

describe('a seal', () => {
  const key = Uint8Array.of(0x10, 2)

  test('is the format version and the checksum of key, payload and version, lowest byte first', () => {
    for (const name of [key, new Uint8Array(16).fill(7), new Uint8Array(17).fill(7), new Uint8Array(40).fill(9)]) {
      const value = seal(name, Uint8Array.from([1, 2, 3, 0, 0, 0, 0, 0]))
      const sum = crc32(Uint8Array.from([...name, 1, 2, 3, FORMAT_VERSION]))
      expect(Array.from(value)).toEqual([1, 2, 3, FORMAT_VERSION, sum & 255, (sum >> 8) & 255, (sum >> 16) & 255, sum >>> 24])
      expect(sumOf(value) >>> 0).toBe(sum)
      expect(Array.from(unseal(name, value))).toEqual([1, 2, 3])
    }
  })

  test('alone is an empty value', () => {
    expect(Array.from(unseal(key, seal(key, new Uint8Array(SEAL_BYTES))))).toEqual([])
  })

  test('that does not match says why, and names the key', () => {
    const value = seal(key, utf8('payload....'))
    const damaged = value.slice()
    damaged[0]! ^= 1
    expect(() => unseal(key, damaged)).toThrow(refusal('CORRUPT', { key: '1002', reason: 'the checksum does not match' }))
    expect(() => unseal(key, value.subarray(0, 4))).toThrow(refusal('CORRUPT', { key: '1002', reason: 'the value is too short' }))
    expect(() => unseal(key, new Uint8Array(0))).toThrow(refusal('CORRUPT', { key: '1002', reason: 'the value is too short' }))
  })

  test('of another release is told from damage', () => {
    const value = new Uint8Array(8)
    value[3] = 99
    const sum = crc32(value.subarray(0, 4), crc32(key))
    new DataView(value.buffer).setUint32(4, sum, true)
    expect(() => unseal(key, value)).toThrow(refusal('STORE_FORMAT', { found: 99, expected: FORMAT_VERSION }))
  })
})

describe('the digest of a ledger', () => {
  const digest = Uint8Array.from({ length: DIGEST_BYTES }, (_, n) => n)

  test('is read back only under its own ledger', () => {
    const value = encodeDigest(7, digest)
    expect(value.length).toBe(DIGEST_BYTES + SEAL_BYTES)
    expect(Array.from(decodeDigest(7, value))).toEqual(Array.from(digest))
    expect(() => decodeDigest(8, value)).toThrow(refusal('CORRUPT', { key: '5000000008', reason: 'the checksum does not match' }))
  })

  test('that is missing or of another length is damage', () => {
    expect(() => decodeDigest(7, undefined)).toThrow(refusal('CORRUPT', { key: '5000000007', reason: 'the digest of ledger 7 is missing' }))
    for (const length of [0, 31, 33]) {
      const value = seal(digestKey(7), new Uint8Array(length + SEAL_BYTES))
      expect(() => decodeDigest(7, value)).toThrow(refusal('CORRUPT', { key: '5000000007', reason: 'the digest has another length' }))
    }
  })
})

describe('a hash entry', () => {
  test.each([
    [0, false, '00'],
    [0, true, '01'],
    [5, false, '0a'],
    [63, true, '7f'],
    [64, false, '8001'],
    [2 ** 40 + 3, true, '8780808080' + '40'],
  ])('of ordinal %i (failed: %s) is the bytes %s', (ordinal, failed, bytes) => {
    const value = encodeHash(HEAD, { ordinal, failed })
    expect(hex(payloadOf(value))).toBe(bytes)
    expect(value.length).toBe(bytes.length / 2 + SEAL_BYTES)
    expect(decodeHash(HEAD, value)).toEqual({ ordinal, failed })
  })

  test.each([[[]], [[0x80]], [[1, 0]], [[0x80, 0x01, 5]]])('is not %j', (bytes) => {
    expect(() => decodeHash(HEAD, seal(HEAD, Uint8Array.from([...bytes, 0, 0, 0, 0, 0])))).toThrow(
      refusal('CORRUPT', { key: '00', reason: 'the hash entry has another length' }),
    )
  })
})

describe('the values that describe a store', () => {
  const head: Head = { ...emptyHead, first: 2, oldest: 3, last: 9, hash: 'ab', counts: [0, 8, 1, 2, 3, 4, 5, 6], topOffer: '7', filed: 9 }

  test('the head of a store without ledgers counts nothing, and is not stored', () => {
    const none = [0, 0, 0, 0, 0, 0, 0, 0]
    const wanted = { first: 0, oldest: 0, last: 0, hash: '', closedAt: '', counts: none, since: none, topOffer: '0', filed: 0 }
    expect(emptyHead).toEqual({ ...wanted, filedCounts: none })
    expect(encodeHead(emptyHead)).toBeUndefined()
  })

  test('are sealed JSON, each under its own key', () => {
    const value = encodeHead(head)!
    expect(JSON.parse(Buffer.from(payloadOf(value)).toString())).toEqual(head)
    expect(decodeHead(value)).toEqual(head)
    for (const intent of [{ rollback: 5 }, { prune: 6 }, { repair: true }] as const)
      expect(decodeIntent(encodeIntent(intent))).toEqual(intent)
    expect(decodePruned(encodePruned({ 1: 4 }))).toEqual({ 1: 4 })
    expect(decodeHighWater(encodeHighWater({ last: 5, hash: 'ab' }))).toEqual({ last: 5, hash: 'ab' })
    expect(decodeEra(encodeEra(3))).toBe(3)
    expect(decodeEra(undefined)).toBe(0)
    for (const decode of [decodeIntent, decodePruned, decodeHighWater, decodeEra])
      expect(() => decode(value)).toThrow(expect.objectContaining({ code: 'CORRUPT' }))
  })

  test('an intent has one kind', () => {
    expect([kindOf({ rollback: 0 }), kindOf({ prune: 0 }), kindOf({ repair: true })]).toEqual(['rollback', 'prune', 'repair'])
  })

  test('a text is its bytes and a seal', () => {
    const value = encodeText(HEAD, 'é')
    expect([...value.subarray(0, 2), value.length]).toEqual([0xc3, 0xa9, 7])
    expect(decodeText(HEAD, value)).toBe('é')
    expect(() => decodeText(FORMAT, value)).toThrow(refusal('CORRUPT', { key: '01', reason: 'the checksum does not match' }))
  })

  test('a fingerprint lists logs and indexes', () => {
    const log = { name: 'coin', tag: 9, shift: 4, sides: ['a', 'b'] } as unknown as Resource<unknown>
    const other = { name: 'note', tag: 8, shift: 0, sides: [] } as unknown as Resource<unknown>
    const index = { name: 'pair', tag: 7, of: log }
    expect(fingerprint([log, other], [index])).toBe('9=coin/4(a b); 8=note/0(); 7=pair of coin')
  })

  test('a format must be that of this release and these logs, and names the network', () => {
    expect(checkFormat(encodeFormat('logs', 'net'), 'logs')).toBe('net')
    expect(checkFormat(encodeFormat('logs'), 'logs')).toBeUndefined()
    expect(() => checkFormat(encodeFormat('logs'), 'others')).toThrow(refusal('STORE_CATALOGUE', { found: 'logs', expected: 'others' }))
    const newer = encodeFormat('logs')
    newer[newer.length - 5] = 77
    expect(() => checkFormat(newer, 'logs')).toThrow(refusal('STORE_FORMAT', { found: 77, expected: FORMAT_VERSION }))
    const said = encodeText(FORMAT, JSON.stringify({ format: 78, catalogue: 'logs' }))
    expect(() => checkFormat(said, 'logs')).toThrow(refusal('STORE_FORMAT', { found: 78, expected: FORMAT_VERSION }))
    const damaged = encodeFormat('logs')
    damaged[0]! ^= 1
    expect(() => checkFormat(damaged, 'logs')).toThrow(expect.objectContaining({ code: 'CORRUPT' }))
  })
})
