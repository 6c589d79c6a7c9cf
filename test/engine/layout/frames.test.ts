/** Texts taken apart, frames as bytes, and the vocabulary they are written with. */
import { describe, expect, test, vi } from 'vitest'
import { text, utf8 } from '../../../src/bytes.ts'
import { decodeFrame, encodeFrame } from '../../../src/layout/frame.ts'
import { abbreviate, meaning } from '../../../src/layout/vocabulary.ts'
import { takeApart } from '../../../src/text/writer.ts'
import { valuesOf } from './support.ts'

/** Holes are shown as squares. */
const shown = (frame: string): string => frame.replaceAll('\u0000', '□')
const holed = (frame: string): string => frame.replaceAll('□', '\u0000')

describe('taken apart', () => {
  test.each([
    ['"n":9', '"n":□', ['9']],
    ['"n":0,"m":-0', '"n":□,"m":□', ['0', '-0']],
    ['"n":1E+5,"m":1e-5,"o":-2.5', '"n":□,"m":□,"o":□', ['1E+5', '1e-5', '-2.5']],
    ['"":"","a":""', '"":"□","a":"□"', ['', '']],
    ['"a":"z","b":"_z","c":"9z","d":"z_9","i":"a0","e":"a{","f":"a`","g":"a:","h":"a/"', null, ['_z', '9z', 'a{', 'a`', 'a:', 'a/']],
    [`"a":"${'n'.repeat(24)}","b":"${'n'.repeat(25)}"`, `"a":"${'n'.repeat(24)}","b":"□"`, ['n'.repeat(25)]],
    [String.raw`"a":"\\","b":"\\\"","c":"x"`, '"a":"□","b":"□","c":"x"', [String.raw`\\`, String.raw`\\\"`]],
    ['12', '□', ['12']],
    ['"Open', '"□', ['Open']],
  ])('%s', (json, frame, values) => {
    const apart = takeApart(json)
    expect(valuesOf(apart)).toEqual(values)
    if (frame !== null) expect(shown(apart.frame)).toBe(frame)
    expect(apart.text).toBe(json)
  })

  test('each string is a value, however long', () => {
    const [long, longer] = ['A'.repeat(100), 'B'.repeat(1001)]
    const apart = takeApart(`"a":"${long}","b":"${longer}","c":"${long}"`)
    expect([shown(apart.frame), valuesOf(apart)]).toEqual(['"a":"□","b":"□","c":"□"', [long, longer, long]])
  })

  test('a text without holes is its own frame', () => {
    const apart = takeApart('"a":true,"b":null')
    expect([apart.frame, valuesOf(apart), apart.text]).toEqual(['"a":true,"b":null', [], '"a":true,"b":null'])
  })
})

describe('the vocabulary', () => {
  // These numbers are in every store: more may be added, but none may change.
  test.each([
    [',"id":"□"', 0],
    [',"paging_token":"□"', 1],
    [',"hash":"□"', 13],
    [',"shares_min":"□"', 181],
    [',"id":□', 1024],
    [',"type_i":□', 1027],
    [',"id":', 2048],
    [',"asset_type":', 2054],
    ['"id":', 3072],
    ['"account":', 3076],
    ['"native"', 4096],
    ['"credit_alphanum4"', 4097],
    ['"payment"', 4106],
    ['"orderbook"', 4173],
  ])('writes %s as number %i', (piece, number) => {
    expect(Array.from(abbreviate(holed(piece)), (one) => one.charCodeAt(0))).toEqual([1 + (number >> 8), number & 255])
    expect(shown(meaning(1 + (number >> 8), number & 255))).toBe(piece)
  })

  test('has no meaning for numbers that are not assigned', () => {
    const last = [181, 1024 + 181, 2048 + 181, 3072 + 181, 4173]
    for (const number of last) expect(meaning(1 + ((number + 1) >> 8), (number + 1) & 255)).toBe('')
    expect(meaning(31, 255)).toBe('')
  })

  test.each([
    ['"nobody_knows":"□"', ['"nobody_knows":"□"']],
    ['"id":"□"', ['"id":', '"□"']],
    ['"id":□,"id":"native"', ['"id":', '□', ',"id":', '"native"']],
    ['"a":true,"type":"payment","type_i":□', ['"a":true', ',"type":', '"payment"', ',"type_i":□']],
    ['"nobodys","native":"return"', ['"nobodys","native":', '"return"']],
    ['"ID":"Native"', ['"ID":"Native"']],
    [',"nobodys":"□"', [',"nobodys":"□"']],
  ])('writes %s piece by piece', (frame, pieces) => {
    const short = abbreviate(holed(frame))
    const found: string[] = []
    let spelled = ''
    for (let at = 0; at < short.length; at++) {
      const code = short.charCodeAt(at)
      if (code > 0 && code < 32) {
        if (spelled) found.push(shown(spelled))
        spelled = ''
        found.push(shown(meaning(code, short.charCodeAt(++at))))
      } else spelled += short[at]
    }
    if (spelled) found.push(shown(spelled))
    // A name that is known only as a word is spelled out as a member.
    expect(found).toEqual(pieces)
  })
})

describe('frames', () => {
  test.each([
    ['', []],
    ['□', [0]],
    ['"é":□ 𝄞', [34, 0xc3, 0xa9, 34, 58, 0, 32, 0xf0, 0x9d, 0x84, 0x9e]],
    ['"id":"□","native"', [13, 0, 34, 0, 34, 44, 17, 0]],
    [',"account":"□",true□', [1, 4, 44, 116, 114, 117, 101, 0]],
    [',"shares_min":"□",1', [1, 181, 44, 49]],
    ['"a","native" "b"', [34, 97, 34, 44, 17, 0, 32, 34, 98, 34]],
    [' "c"', [32, 34, 99, 34]],
  ])('%s is written and read', (frame, bytes) => {
    expect(Array.from(encodeFrame(holed(frame)))).toEqual(bytes)
    // Read from amid other bytes, which are no part of it, it is the same frame.
    const first = decodeFrame(Uint8Array.from([120, ...bytes, 120, 65]), 1, 1 + bytes.length)
    for (const [before, after] of [
      [[], []],
      [[120, 121], [65]],
    ] as const) {
      const around = Uint8Array.from([...before, ...bytes, ...after])
      const read = decodeFrame(around, before.length, before.length + bytes.length)
      expect(read).toBe(first)
      expect(shown(read.text)).toBe(frame)
      const pieces = frame.split('□')
      expect(read.ends).toEqual(pieces.map((_, at) => utf8(pieces.slice(0, at + 1).join('')).length))
      expect(text(read.pieces.bytes)).toBe(pieces.join(''))
      expect(Array.from(read.stored)).toEqual(bytes)
    }
  })

  test('read from changed bytes are other frames', () => {
    const bytes = utf8('xx"some":here')
    const before = decodeFrame(bytes, 2, 13)
    bytes[4] = 65
    expect(decodeFrame(bytes, 2, 13).text).toBe('"sAme":here')
    expect(text(before.stored)).toBe('"some":here')
  })

  test('with the same hash are not taken for each other', () => {
    for (const [a, b] of [
      ['"achrtkcw', '"swyftagt'],
      ['"x"', '"x"jsvvjxrtal'],
    ] as const)
      for (const one of [a, b, a, b, b]) {
        const bytes = utf8(one)
        expect(decodeFrame(bytes, 0, bytes.length).text).toBe(one)
      }
  })

  test('are written once, and no more than 4096 are kept', () => {
    const encoded = (one: number) => encodeFrame(`kept ${one}`)
    // Until the first is forgotten, whatever was kept before; then only the last one, and the first one again, are kept.
    let first = encoded(0)
    let last = 0
    while (encoded(0) === first) encoded(++last)
    first = encoded(0)
    expect(last).toBeGreaterThan(1)
    expect(last).toBeLessThanOrEqual(4096)
    for (let more = 1; more <= 4094; more++) encoded(last + more)
    expect(encoded(0)).toBe(first)
    encoded(last + 4095)
    expect(encoded(0)).not.toBe(first)
  })

  test('are decoded once: the first 4096 have a number, and keep it for ever; of the others no more than 4096 are kept', async () => {
    vi.resetModules()
    const { decodeFrame, frameOf } = await import('../../../src/layout/frame.ts')
    const decoded = (one: number) => {
      const bytes = utf8(`kept ${one}`)
      return decodeFrame(bytes, 0, bytes.length)
    }
    const first = Array.from({ length: 8192 }, (_, one) => decoded(one))
    expect(first.map(({ number }) => number)).toEqual(first.map((_, at) => (at < 4096 ? at + 1 : 0)))
    expect(first.every((frame, at) => decoded(at) === frame)).toBe(true)
    for (let more = 8192; more < 20_000; more++) expect(decoded(more).number).toBe(0)
    expect(first.slice(0, 4096).every((frame, at) => decoded(at) === frame && frameOf(at + 1) === frame)).toBe(true)
    expect(first.slice(4096).some((frame, at) => decoded(4096 + at) === frame)).toBe(false)
  })

  test('keep the text between words of the vocabulary, whichever words they are', () => {
    // Words late in the vocabulary, whose second byte is no ASCII: text before them must not be encoded together with them.
    for (const name of ['claimants', 'trade_type', 'min_price', 'account_muxed_id', 'shares_min']) {
      const frame = `{"é":\u0000,"${name}":"\u0000","x":\u0000,"${name}":\u0000,"€":{"${name}":[\u0000]},"y":\u0000}`
      const stored = encodeFrame(frame)
      expect([decodeFrame(stored, 0, stored.length).text, stored.length]).toEqual([frame, 38])
    }
  })

  test('of more than 4096 characters are written and read, but not kept', () => {
    for (const [length, kept] of [
      [4096, true],
      [4097, false],
    ] as const) {
      // With words of the vocabulary, the stored frame is far shorter.
      const frame = `${',"account":"\u0000","é":\u0000'.repeat(200)}"${'x'.repeat(length)}`.slice(0, length - 1).concat(']')
      const bytes = encodeFrame(frame)
      const [first, again] = [0, 0].map(() => decodeFrame(bytes, 0, bytes.length))
      expect([frame.length, first!.text, text(first!.pieces.bytes)]).toEqual([length, frame, frame.replaceAll('\u0000', '')])
      expect([encodeFrame(frame) === bytes, again === first]).toEqual([kept, kept])
      if (!kept) expect(first!.number).toBe(0)
    }
  })
})
