/** Bodies in memory that is reused: whatever was not released stays as it was written. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Body, Sink } from '../../adapters/http/sink.ts'
import { Region } from '../../src/index.ts'

const CHUNK = 64 * 1024
const bodyOf = (sink: Sink, text: string): Body => {
  sink.ascii(text)
  return sink.finish()
}
const textOf = ({ parts }: Body): string => Buffer.concat(parts).toString('latin1')

describe('a sink', () => {
  test('writes bodies one after another, and starts over once they have been sent', () => {
    const sink = new Sink()
    const [first, second] = [bodyOf(sink, 'first'), bodyOf(sink, 'second')]
    expect([first, second].map(textOf)).toEqual(['first', 'second'])
    expect(second.parts[0]!.byteOffset - first.parts[0]!.byteOffset).toBe(5)
    first.release()
    const third = bodyOf(sink, 'third')
    expect([second, third].map(textOf)).toEqual(['second', 'third'])
    second.release()
    third.release()
    const fourth = bodyOf(sink, 'fourth')
    expect(fourth.parts[0]!.byteOffset).toBe(first.parts[0]!.byteOffset)
    expect(textOf(fourth)).toBe('fourth')
  })

  test('copies what is smaller than its threshold, and passes on the rest as it is', () => {
    const stored = Buffer.from('abcdefghijklmnopqrstuvwxyz'.repeat(100))
    for (const [passed, parts] of [
      [1024, 3],
      [1000, 4],
      [4096, 1],
    ] as const) {
      const sink = new Sink(passed)
      sink.ascii('head ')
      sink.pass(new Region(stored), 1, 1025)
      sink.pass(new Region(stored), 5, 1005)
      sink.ascii(' tail')
      const body = sink.finish()
      expect([body.parts.length, body.parts.filter(({ buffer }) => buffer === stored.buffer).length]).toEqual([parts, parts >> 1])
      expect(textOf(body)).toBe(`head ${stored.toString('latin1', 1, 1025)}${stored.toString('latin1', 5, 1005)} tail`)
    }
  })

  test('puts each passed piece in its place, however many pieces of any length come between other writes', () => {
    const stored = Uint8Array.from({ length: 9000 }, (_, at) => 32 + (at % 90))
    const region = new Region(stored.subarray(100))
    const piece = fc.oneof(
      fc.tuple(fc.nat(8000), fc.nat(900)),
      fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 20 }),
      fc.constant(undefined),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 400 }), fc.integer({ min: 1, max: 1200 }), (pieces, passed) => {
        const sink = new Sink(passed)
        let wanted = ''
        for (const one of pieces) {
          if (one === undefined) {
            // What failed halfway leaves nothing behind.
            sink.drop()
            wanted = ''
          } else if (typeof one === 'string') {
            sink.ascii(one)
            wanted += one
          } else {
            const [from, length] = one
            sink.pass(region, from, from + length)
            wanted += Buffer.from(stored.subarray(100 + from, 100 + from + length)).toString('latin1')
          }
        }
        expect(textOf(sink.finish())).toBe(wanted)
      }),
    )
  })

  test('counts a release once, however often it is called', () => {
    const sink = new Sink()
    const [first, second] = [bodyOf(sink, 'first'), bodyOf(sink, 'second')]
    for (let n = 0; n < 3; n++) first.release()
    bodyOf(sink, 'third')
    expect(textOf(second)).toBe('second')
  })

  test('reuses chunks that were sent before it allocates others', () => {
    const sink = new Sink()
    const large = (letter: string): string => letter.repeat(3000)
    const write = (): Body => {
      for (let n = 0; n < 100; n++) sink.ascii(large('x'))
      return sink.finish()
    }
    const buffers = new Set<ArrayBufferLike>()
    for (let n = 0; n < 50; n++) {
      const body = write()
      expect(textOf(body)).toBe(large('x').repeat(100))
      for (const { buffer } of body.parts) buffers.add(buffer)
      body.release()
    }
    expect(buffers.size).toBeLessThanOrEqual(Math.ceil(300_000 / CHUNK) + 2)
    // What was never released is never reused.
    const kept = [write(), write(), write()]
    for (let n = 0; n < 20; n++) write().release()
    for (const body of kept) expect(textOf(body)).toBe(large('x').repeat(100))
  })

  test('does not start over on a release while a body is being written, nor after a body that failed', () => {
    const sink = new Sink()
    const sent = bodyOf(sink, 'sent')
    sink.ascii('half ')
    sent.release()
    sink.ascii('a body')
    const whole = sink.finish()
    expect(textOf(whole)).toBe('half a body')
    sink.ascii('failed')
    sink.drop()
    expect([textOf(bodyOf(sink, 'next')), textOf(whole)]).toEqual(['next', 'half a body'])
    // A body that failed after it had filled a chunk gives that chunk back.
    const before = new Set<ArrayBufferLike>()
    for (let n = 0; n < 40; n++) {
      sink.ascii('y'.repeat(CHUNK - 10))
      sink.ascii('z'.repeat(100))
      before.add(sink.bytes.buffer)
      sink.drop()
    }
    expect(before.size).toBeLessThanOrEqual(3)
    expect(textOf(whole)).toBe('half a body')
  })

  test('leaves alone what was not released, whatever is written and released meanwhile, also into the room before bodies', () => {
    const stored = new Uint8Array(60_000).fill(63)
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          kind: fc.constant('write' as const),
          passes: fc.boolean(),
          pieces: fc.array(fc.oneof(fc.nat(40_000), fc.nat(40)), { maxLength: 5 }),
        }),
      },
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('release' as const), which: fc.nat() }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('drop' as const), length: fc.nat(90_000) }) },
    )
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 30 }), fc.constantFrom(0, 1, 512), (steps, room) => {
        const sink = new Sink(20_000, room)
        const open: { body: Body; wanted: string }[] = []
        let letter = 97
        for (const one of steps) {
          if (one.kind === 'write') {
            const texts = one.pieces.map((length) => String.fromCharCode(97 + (letter++ % 26)).repeat(length))
            if (one.passes) sink.pass(new Region(stored), 0, 30_000)
            for (const text of texts) sink.ascii(text)
            const body = sink.finish()
            const first = body.parts[0]
            expect(body.room).toBe(first === undefined || first.buffer === stored.buffer ? 0 : room)
            if (first) new Uint8Array(first.buffer, first.byteOffset - body.room, body.room).fill(33)
            open.push({ body, wanted: (one.passes ? '?'.repeat(30_000) : '') + texts.join('') })
          } else if (one.kind === 'drop') {
            sink.ascii('!'.repeat(one.length))
            sink.drop()
          } else if (open.length > 0) open.splice(one.which % open.length, 1)[0]!.body.release()
          for (const { body, wanted } of open) expect(textOf(body) === wanted).toBe(true)
        }
      }),
    )
  })
})
