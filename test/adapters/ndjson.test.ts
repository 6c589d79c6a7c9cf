/** Reading NDJSON: what is taken, what is rejected, and where an error says it is. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import { createGzip, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { memory } from '../../adapters/memory/index.ts'
import { ingestCloses, locateError, originOf, type ReadClosesOptions, readCloses, type Source } from '../../adapters/ndjson/index.ts'
import { anyText } from '../../adapters/testing/arbitrary-values.ts'
import { richClose } from '../../adapters/testing/invalid-closes.ts'
import { FolioError, type LedgerClose, openLedger, type Store, stringifyJson } from '../../src/index.ts'
import { directory } from '../support/directory.ts'

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const bytes = (text: string, size = 7): AsyncIterable<Uint8Array> => pieces(Buffer.from(text), size)

async function read(source: Source | readonly Source[], options?: ReadClosesOptions): Promise<{ values: unknown[]; error?: FolioError }> {
  const values: unknown[] = []
  try {
    for await (const close of readCloses(source, options)) values.push(close)
    return { values }
  } catch (error) {
    if (!(error instanceof FolioError)) throw error
    return { values, error }
  }
}

const fieldsOf = async (source: Source, options?: ReadClosesOptions): Promise<Record<string, unknown>> => {
  const { error } = await read(source, options)
  return { code: error?.code, ...error?.fields }
}

test('CRLF, blank lines, a byte order mark and a last line without its end are read', async () => {
  const { values } = await read(bytes('\uFEFF{"a":1}\r\n\r\n  \n{"b":"é"}\n\n{"c":3}'))
  expect(values).toEqual([{ a: 1 }, { b: 'é' }, { c: 3 }])
})

test('a byte order mark anywhere else is no JSON', async () => {
  expect(await fieldsOf(bytes('{}\n\uFEFF{}'))).toMatchObject({ code: 'MALFORMED_JSON', line: 2 })
})

test('only an error that is the fault of a close is located', async () => {
  const closes = []
  for await (const close of readCloses(bytes('\n{}'))) closes.push(close)
  const [close] = closes as [LedgerClose]
  const fault = new FolioError('LEDGER_GAP', { sequence: 9, expected: 8 })
  expect(locateError(fault, close)).toMatchObject({
    code: 'LEDGER_GAP',
    fields: { file: '-', line: 2, sequence: 9, expected: 8 },
    cause: fault,
  })
  expect(locateError(fault, { ...close })).toBe(fault)
  for (const other of [new FolioError('CORRUPT', { key: '00' }), new FolioError('POISONED', {}), new Error('the disk is full'), undefined])
    expect(locateError(other, close)).toBe(other)
})

test('each close knows its file and line, blank lines counted', async () => {
  const path = join(directory(), 'closes.ndjson')
  writeFileSync(path, '{}\n\n{}')
  const origins = []
  for await (const close of readCloses([path, bytes('\n{}')])) origins.push(originOf(close))
  expect(origins).toEqual([
    { file: path, line: 1 },
    { file: path, line: 3 },
    { file: '-', line: 2 },
  ])
})

test('the file: URL of a file means that file', async () => {
  const path = join(directory(), 'a close.ndjson')
  writeFileSync(path, '{"a":1}\n{"b":')
  const { values, error } = await read(pathToFileURL(path))
  expect(values).toEqual([{ a: 1 }])
  expect(error).toMatchObject({ code: 'MALFORMED_JSON', fields: { file: path, line: 2 } })
})

test.each<[string, unknown, string]>([
  ['nothing', undefined, 'undefined'],
  ['null', null, 'object'],
  ['a number', 7, 'number'],
  ['bytes that are not a stream', Buffer.from('{}\n'), 'object'],
  ['a URL that is not a file', new URL('https://ledger.example/closes.ndjson'), 'https:'],
  ['a file: URL that names no file', new URL('file:///a%2Fb.ndjson'), 'file:///a%2Fb.ndjson'],
  ['a stream of text', Readable.from(['{}\n', '{}\n']), 'a stream of string'],
])('%s is not a source', async (_, source, found) => {
  const { values, error } = await read(source as never)
  expect(values).toEqual([])
  const reason = 'paths, file: URLs, or streams of bytes'
  expect(error).toMatchObject({ code: 'BAD_REQUEST', fields: { field: 'sources', reason, found } })
})

test('what is not a source is rejected before those ahead of it are read', async () => {
  for (const source of [undefined as never, new URL('file:///a%2Fb.ndjson')])
    expect(await read([bytes('{}'), source])).toMatchObject({ values: [], error: { code: 'BAD_REQUEST' } })
})

test.each([0, -1, Number.NaN])('a batch of %d ledgers is rejected before anything is read', async (batch) => {
  await using ledger = await openLedger(memory())
  let pulled = false
  const closes = (async function* (): AsyncGenerator<LedgerClose> {
    pulled = true
    yield {} as LedgerClose
  })()
  await expect(ingestCloses(ledger, closes, { batch })).rejects.toMatchObject({ code: 'BAD_REQUEST', fields: { field: 'batch' } })
  expect(pulled).toBe(false)
})

test.each<[string, unknown, object, string]>([
  ['an unknown option', [], { bach: 5 }, 'bach'],
  ['options that are null', [], null as never, 'options'],
  ['a batch in digits', [], { batch: '2' }, 'batch'],
  ['a signal that is not one', [], { signal: new AbortController() }, 'signal'],
  ['a callback that is not a function', [richClose(7, '')], { onLedger: 5 }, 'onLedger'],
  ['the name of a file in place of its closes', 'closes.ndjson', {}, 'closes'],
  ['one close in place of several', { ledger: {} }, {}, 'closes'],
])('%s is rejected by ingestCloses', async (_, closes, options, field) => {
  await using ledger = await openLedger(memory())
  const refused = { code: 'BAD_REQUEST', fields: { field } }
  await expect(ingestCloses(ledger, closes as never, options)).rejects.toMatchObject(refused)
  expect(ledger.head).toBeUndefined()
  const noLedger = { code: 'BAD_REQUEST', fields: { field: 'ledger', reason: 'a ledger, such as openLedger resolves to' } }
  // A promise of a ledger is not a ledger.
  for (const given of [Promise.resolve(ledger), undefined]) await expect(ingestCloses(given as never, [])).rejects.toMatchObject(noLedger)
})

test('writes are as durable as ingestCloses is told', async () => {
  for (const durable of [undefined, true, false]) {
    const store = memory()
    const writes: boolean[] = []
    const noting: Store['write'] = (batch, options) => {
      writes.push(options.durable)
      return store.write(batch, options)
    }
    await using ledger = await openLedger({ ...store, write: noting })
    writes.length = 0
    await ingestCloses(ledger, [richClose(7, '')], { durable })
    expect(writes).toEqual([durable ?? true])
  }
})

test('what ingestCloses is refused names its file and line, if it was read from one; a store that fails does not', async () => {
  const path = join(directory(), 'closes.ndjson')
  const first = richClose(7, '')
  const second = richClose(8, first.ledger.hash)
  const third = richClose(9, second.ledger.hash)
  writeFileSync(path, `${stringifyJson(first)}\n\n${stringifyJson(third)}\n`)
  const store = memory()
  let failure: Error | undefined
  const write: Store['write'] = async (batch, options) => {
    if (failure) throw failure
    await store.write(batch, options)
  }
  await using ledger = await openLedger({ ...store, write })
  const told: number[] = []
  const refused = async (closes: AsyncIterable<LedgerClose> | Iterable<LedgerClose>): Promise<unknown> => {
    const onLedger = ({ sequence }: { sequence: number }): void => void told.push(sequence)
    const error = await ingestCloses(ledger, closes, { onLedger }).catch((thrown: unknown) => thrown)
    return error instanceof FolioError ? { code: error.code, ...error.fields } : error
  }
  const gap = { code: 'LEDGER_GAP', sequence: 9, expected: 8 }
  expect(await refused(readCloses(path))).toEqual({ ...gap, file: path, line: 3 })
  expect(told).toEqual([7])
  expect(await refused([third])).toEqual(gap)
  failure = new Error('the disk is full')
  expect(await refused(readCloses(bytes(stringifyJson(second))))).toBe(failure)
  expect(await refused(readCloses(bytes(stringifyJson(second))))).toEqual({ code: 'POISONED' })
})

test.each([
  [{ maxLineByte: 5 }, 'maxLineByte'],
  [{ maxLineBytes: '1 MiB' }, 'maxLineBytes'],
  [{ maxLineBytes: '5' }, 'maxLineBytes'],
  [{ maxLineBytes: 0 }, 'maxLineBytes'],
  [{ onBytes: 5 }, 'onBytes'],
  [{ gunzip: 'no' }, 'gunzip'],
  [null, 'options'],
])('%o are not options of readCloses', async (options, field) => {
  const first = readCloses(bytes('{}'), options as never).next()
  await expect(first).rejects.toMatchObject({ code: 'BAD_REQUEST', fields: { field } })
})

test('integers past 2^53 are bigints, even ones too; other numbers keep their digits', async () => {
  const { values } = await read(
    bytes('{"a":9007199254740994,"b":9007199254740993,"c":12,"d":1.50,"e":"9007199254740994","f":[9223372036854775807]}'),
  )
  const { d, ...rest } = values[0] as { d: unknown }
  expect(rest).toEqual({ a: 9007199254740994n, b: 9007199254740993n, c: 12, e: '9007199254740994', f: [9223372036854775807n] })
  expect(String(d)).toBe('1.50')
})

test('an empty source has no closes', async () => {
  expect(await read(bytes(''))).toEqual({ values: [] })
  expect(await read(pieces(gzipSync(''), 3))).toEqual({ values: [] })
})

test('however bytes are cut, compressed or not, the same closes are read', async () => {
  const text = fc.array(fc.record({ s: anyText(10), n: fc.integer() }), { maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 1, max: 40 }), fc.boolean(), async (values, size, packed) => {
      const plain = Buffer.from(values.map((value) => JSON.stringify(value)).join('\n'))
      const source = pieces(packed ? gzipSync(plain) : plain, size)
      expect((await read(source)).values).toEqual(JSON.parse(JSON.stringify(values)))
    }),
  )
})

test('gzip is unpacked if the source begins like it, unless told to do so always, or never', async () => {
  const plain = Buffer.from('{"a":1}\n')
  const packed = gzipSync(plain)
  for (const [given, gunzip] of [
    [plain, false],
    [packed, true],
    [plain, 'auto'],
    [packed, 'auto'],
  ] as const)
    expect(await read(pieces(given, 5), { gunzip })).toEqual({ values: [{ a: 1 }] })
  expect((await fieldsOf(pieces(plain, 5), { gunzip: true }))['reason']).toMatch(/damaged/)
  expect((await fieldsOf(pieces(packed, 5), { gunzip: false }))['reason']).toMatch(/^the line is not UTF-8 text/)
  // One of its two bytes is not enough.
  expect((await fieldsOf(pieces(Buffer.from([0x1f, 0x7b, 0x7d]), 5)))['reason']).not.toMatch(/gzip/)
  expect((await fieldsOf(pieces(Buffer.from([0x7b, 0x8b, 0x7d]), 5)))['reason']).not.toMatch(/gzip data/)
})

test('gzip of several members is one text', async () => {
  const { values } = await read(pieces(Buffer.concat([gzipSync('{"a":1}\n{"b"'), gzipSync(':2}\n')]), 5))
  expect(values).toEqual([{ a: 1 }, { b: 2 }])
})

test('a malformed line is named with its line and column, and what is before it is read', async () => {
  const { values, error } = await read(bytes('{"a":1}\n\n{"a":1,}\n{"b":2}\n'))
  expect(values).toHaveLength(1)
  expect(error).toMatchObject({ code: 'MALFORMED_JSON', fields: { file: '-', line: 3, column: 8 } })
  expect(await fieldsOf(bytes('{"a":9007199254740993,"b":tru}'))).toMatchObject({ code: 'MALFORMED_JSON', line: 1, column: 27 })
  expect(await fieldsOf(bytes('{"a":"b'))).toMatchObject({ code: 'MALFORMED_JSON', line: 1, column: 8 })
  expect(await fieldsOf(bytes('{"a":1,"a":2,"b":tru}'))).toMatchObject({ code: 'MALFORMED_JSON', line: 1, column: 18 })
})

test('a line that is JSON but not an object is rejected', async () => {
  for (const line of ['5', 'null', '"close"']) {
    const fields = { code: 'INVALID_INPUT', file: '-', line: 1, path: '(the whole close)', expected: 'an object' }
    expect(await fieldsOf(bytes(line))).toEqual(fields)
  }
})

test('a line nested deeper than the exact parser can go is rejected', async () => {
  const deep = `{"a":9007199254740993,"b":${'['.repeat(200_000)}${']'.repeat(200_000)}}`
  expect(await fieldsOf(bytes(deep, 65_536))).toMatchObject({ code: 'MALFORMED_JSON', line: 1, reason: 'it is nested too deeply' })
})

test('a line nested as deep that is no JSON is told to be none', async () => {
  for (const [line, reason] of [
    ['{"a":'.repeat(200_000), /^Unexpected end of JSON input/],
    [`${'['.repeat(200_000)}${']'.repeat(200_000)}x`, /^Unexpected/],
  ] as const)
    expect(await fieldsOf(bytes(line, 65_536))).toMatchObject({ code: 'MALFORMED_JSON', line: 1, reason: expect.stringMatching(reason) })
})

test('a line that is not UTF-8 is rejected', async () => {
  const source = pieces(Buffer.concat([Buffer.from('{}\n{"a":"'), Buffer.from([0xff]), Buffer.from('"}\n')]), 4)
  expect(await fieldsOf(source)).toEqual({ code: 'MALFORMED_JSON', file: '-', line: 2, reason: 'the line is not UTF-8 text' })
  // The first bytes of zstd.
  const packed = pieces(Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), 4)
  expect(await fieldsOf(packed)).toMatchObject({ line: 1, reason: 'the line is not UTF-8 text; only gzip is unpacked, and only once' })
})

test('a line past the limit is rejected before it is held whole', async () => {
  let given = 0
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) {
      given += 1000
      yield Buffer.alloc(1000, 'a')
    }
  }
  expect(await fieldsOf(endless(), { maxLineBytes: 10_000 })).toMatchObject({ code: 'MALFORMED_JSON', line: 1 })
  expect(given).toBeLessThan(20_000)
  expect(await fieldsOf(bytes('{"a":1}\n{"abc":1}'), { maxLineBytes: 8 })).toMatchObject({
    line: 2,
    reason: 'the line is longer than 8 bytes',
  })
  // In two pieces, the second of which ends.
  expect(await fieldsOf(bytes('{"abc":1}\n'), { maxLineBytes: 8 })).toMatchObject({ line: 1 })
  expect(await fieldsOf(bytes('{"abc":1}\n'), { maxLineBytes: 9 })).toEqual({ code: undefined })
  expect(await fieldsOf(bytes('{"a":1}\n{"abc":1}\n', 12), { maxLineBytes: 9 })).toEqual({ code: undefined })
  expect(await fieldsOf(bytes('{"a":1}\n'), { maxLineBytes: 7 })).toEqual({ code: undefined })
})

test('gzip that is truncated or damaged is named with its file, after the lines before it', async () => {
  const path = join(directory(), 'cut.ndjson.gz')
  const noise = Array.from({ length: 20_000 }, (_, at) => JSON.stringify({ at, noise: (at * 7919) ** 2 }))
  const packed = gzipSync(noise.join('\n'))
  writeFileSync(path, packed.subarray(0, packed.length - 1000))
  const { values, error } = await read(path)
  expect(values.length).toBeGreaterThan(1000)
  expect(error).toMatchObject({ code: 'MALFORMED_JSON', fields: { file: path } })
  expect(error?.fields['reason']).toMatch(/cut off/)
  packed.fill(0, 1000, 1100)
  expect((await fieldsOf(pieces(packed, 999)))['reason']).toMatch(/damaged/)
})

test('zeros may follow gzip, as padding; what comes after them is not passed over', async () => {
  const [one, two] = [gzipSync('{"a":1}\n'), gzipSync('{"b":2}\n')]
  const reason = 'after the gzip data come zeros, and then something else, which was not read'
  for (const size of [7, 1 << 16])
    for (const padding of [1, 512, 600_000].map((count) => Buffer.alloc(count))) {
      if (padding.length > 1000 * size) continue
      const { values, error } = await read(pieces(Buffer.concat([one, padding]), size))
      expect({ values, error }).toEqual({ values: [{ a: 1 }], error: undefined })
      for (const rest of [two, Buffer.from('{"b":2}\n'), Buffer.of(1)]) {
        const lost = await read(pieces(Buffer.concat([one, padding, rest, padding]), size))
        expect(lost.values).toEqual([{ a: 1 }])
        expect(lost.error).toMatchObject({ code: 'MALFORMED_JSON', fields: { file: '-', reason } })
      }
    }
  // Two members between which there is nothing are one text.
  expect(await read(pieces(Buffer.concat([one, two, Buffer.alloc(5)]), 3))).toEqual({ values: [{ a: 1 }, { b: 2 }] })
})

test('a source may read each chunk into the same memory', async () => {
  const values = Array.from({ length: 3000 }, (_, at) => ({ at, noise: (at * 7919) ** 2 }))
  const plain = Buffer.from(values.map((value) => JSON.stringify(value)).join('\n'))
  /** As a file is read by hand. */
  async function* reread(bytes: Uint8Array, memory: Uint8Array): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += memory.length) {
      const part = bytes.subarray(at, at + memory.length)
      memory.fill(0).set(part)
      yield memory.subarray(0, part.length)
    }
  }
  for (const bytes of [plain, gzipSync(plain)])
    for (const size of [1, 7, 1000, 1 << 14])
      for (const memory of [Buffer.alloc(size), new Uint8Array(size)]) expect(await read(reread(bytes, memory))).toEqual({ values })
})

test('leaving early closes the source', async () => {
  let closed = false
  async function* source(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield Buffer.from('{}\n')
    } finally {
      closed = true
    }
  }
  for await (const _ of readCloses(source())) break
  expect(closed).toBe(true)
})

describe('packed chunks of a stream that then has nothing to give', () => {
  const silent = (text: string): PassThrough => {
    const source = new PassThrough()
    const packer = createGzip()
    packer.pipe(source)
    packer.write(text)
    packer.flush()
    return source
  }

  test('are left early without waiting for more, and the stream is closed', async () => {
    const source = silent('{"n":1}\n{"n":2}\n')
    for await (const _ of readCloses(source)) break
    expect(source.destroyed).toBe(true)
  })

  test('are told to be malformed at once', async () => {
    const source = silent('{"n":1}\n{"n":\n')
    expect(await read(source)).toEqual({
      values: [{ n: 1 }],
      error: expect.objectContaining({ code: 'MALFORMED_JSON', fields: expect.objectContaining({ line: 2 }) }),
    })
    expect(source.destroyed).toBe(true)
  })

  test('of no stream but a generator: that is told once it gives again', async () => {
    let closed = false
    const packed = gzipSync('{}\n')
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => (open = resolve))
    async function* source(): AsyncGenerator<Uint8Array> {
      try {
        yield packed
        await gate
        yield packed
      } finally {
        closed = true
      }
    }
    for await (const _ of readCloses(source())) break
    open()
    await expect.poll(() => closed).toBe(true)
  })
})

test('progress counts the bytes of the source, compressed as they are', async () => {
  const packed = gzipSync('{}\n'.repeat(1000))
  let count = 0
  await read(pieces(packed, 10), { onBytes: (more) => (count += more) })
  expect(count).toBe(packed.length)
})

test('reading ends with `await using`, and with it the source', async () => {
  let ended = false
  async function* source(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield Buffer.from('{}\n')
    } finally {
      ended = true
    }
  }
  let left: AsyncIterator<unknown>
  {
    await using closes = readCloses(source())
    left = closes
    expect((await closes.next()).done).toBe(false)
    expect(ended).toBe(false)
  }
  expect([ended, (await left.next()).done]).toEqual([true, true])
})
