/**
 * The sources with their bounds so small that small inputs reach them: buffers fill, tables grow and are forgotten, texts move, values are split, over
 * and over. With their own bounds that takes thousands of records. `npm run test:narrow` runs tests that know no bound.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'vitest/config'

/** By file: what stands in the source, and what takes its place. */
const bounds: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'src/text/apart.ts': { 'LONGEST_FRAME = 4096': '200', 'MAX_KNOWN = 4096': '3' },
  'src/text/names.ts': { 'MAX_WEIGHT = 1 << 22': '3000' },
  'src/text/pen.ts': { 'SHEET_BYTES = 64 * 1024': '300', 'SHEET_CUTS = 4096': '6', 'MAX_ROW = 1024': '100' },
  'src/text/writer.ts': { 'MAX_DEPTH = 32': '2' },
  'src/bytes.ts': { 'SLAB_BYTES = 256 * 1024': '100' },
  'src/audit/context.ts': { 'CHUNK_BYTES = 1 << 20': '100' },
  'src/audit/tally.ts': { 'BUCKETS = 1 << 16': '8' },
  'src/cache/clock-cache.ts': { 'LEAST_SLOTS = 64': '2' },
  'src/layout/row.ts': { 'MAX_LITERAL = 199': '9', 'MAX_STRINGS = 32 * 256': '3' },
  'src/layout/distinct.ts': { 'LEAST_SLOTS = 256': '2', 'TRIES = 16': '1' },
  'src/layout/frame.ts': { 'MAX_KNOWN = 4096': '6' },
  'src/cache/hash-table.ts': { 'MOST_SETS = 2 ** 22': '8', 'FIRST_SETS = 2 ** 10': '1', 'GROWTH = 8': '2' },
  'src/cache/runs.ts': { 'RUN = 8': '2' },
  'src/layout/posting.ts': { 'FANOUT = 128': '4' },
  'src/cache/cluster.ts': { 'CLUSTER = 32': '2' },
  'src/layout/common.ts': { 'BESIDE_BYTES = 1 << 14': '32' },
  'src/layout/encode-block.ts': { 'OUT_BYTES = 1 << 17': '64', 'size * 3 > 65535': 'size > 1000' },
  'src/layout/finished.ts': { 'bytes + 2 * numbers > 65535': 'bytes > 1000' },
  'src/layout/finisher.ts': { 'FINISHED_ANEW_AT = 4': '1' },
  'src/cache/slabs.ts': {
    'SLAB_BYTES = 2 ** 20': '2 ** 14',
    '{ each: 8, least: 2 ** 16 }': '{ each: 1, least: 16 }',
    'MAX_ASKED = 0xffff': '5',
  },
  'src/cache/addresses.ts': { 'LEAF = 7': '1', 'LEAST_LEAVES = 16': '1' },
  'src/cache/cache.ts': { 'HOT_AT = 32': '1', 'FINISHED_AT = 1 / 2': '1 / 100' },
  'src/layout/typed.ts': { 'KEPT_AFTER = 6': '1' },
  'src/layout/texts.ts': { 'new Uint8Array(64 * 1024)': 'new Uint8Array(1)' },
  'src/cache/gathering.ts': { '{ least: 8, most: 256 }': '{ least: 1, most: 4 }', 'CALM = 2 ** 20': '16' },
  'src/ingest/prune.ts': { 'STEP_RECORDS = 4096': '3' },
  'src/ingest/parts.ts': { 'PART = 512': '3' },
  'src/ingest/filing.ts': { 'PARTS = 8': '3' },
  'src/ingest/follow.ts': { 'LOOK_BYTES = 2 ** 20': '1' },
  'src/ingest/line.ts': { 'OUT_BYTES = 1 << 18': '1' },
  'src/scan/list.ts': { 'LEAPS = 256': '1' },
  'src/scan/places.ts': { 'LONG = 1024': '300' },
  'src/resources/encode.ts': { 'FEW = 16': '1' },
  'adapters/http/renderer.ts': { 'DOWN_RUN = 4': '2' },
  'adapters/http/renderers.ts': { 'KNOWN_BASES = 16': '1', 'HALVE_AFTER = 4096': '3', 'MAX_NUMBERS = 64': '2' },
  'adapters/http/template.ts': { 'MAX_SHAPES = 64': '1' },
  'adapters/http/out.ts': { 'CHUNK = 64 * 1024': '100' },
  'adapters/http/sink.ts': { 'MAX_FREE = 64': '2', 'MANY = 8': '2', 'SHORT = 2048': '50' },
  'adapters/http/listings.ts': { 'MAX_LISTINGS = 1024': '2' },
  'adapters/http/handler.ts': { 'PASSED = 16 * 1024': '200' },
  'adapters/http/negotiate.ts': { 'MAX_SEEN = 256': '2' },
  'adapters/http/node/pump.ts': { 'PIECE = 65_536': '100' },
  'adapters/ndjson/source.ts': { 'READ_BYTES = 1 << 18': '64' },
  'adapters/level/reading.ts': { 'WINDOW = 1 << 20': '1' },
  'adapters/memory/tree.ts': { 'LEAF = 128': '4' },
}

/** Tests of what is true whatever the bounds are. */
export const narrowTests = [
  'test/adapters/{ndjson,stores}.test.ts',
  'test/engine/{answers,histories,model,paging,races,rollback,shapes,small,states}.test.ts',
  'test/engine/{basics/json,shared/two-writers,text/members}.test.ts',
  'test/http/stream-every.test.ts',
  'test/kit/{engine,stores}.test.ts',
  'test/streams/{branches,crowds,ends,live,small,walks}.test.ts',
  'test/stress/sequences.test.ts',
  'test/trust/{audit,digest,forget,lost,opening,repair}.test.ts',
]

/** A constant has another value, or an expression gives way to another. */
const changed = (text: string, by: string): string => (/^[A-Z_]+ = /.test(text) ? text.replace(/ = .*/, () => ` = ${by}`) : by)

function narrowed(file: string, source: string): string {
  for (const [text, by] of Object.entries(bounds[file]!)) {
    if (source.split(text).length !== 2) throw new Error(`${file} does not say once: ${text}`)
    source = source.replace(text, () => changed(text, by))
  }
  return source
}

/** @param root the repository */
export function narrow(root: string): Plugin {
  for (const file of Object.keys(bounds)) narrowed(file, readFileSync(join(root, file), 'utf8'))
  return {
    name: 'narrow',
    enforce: 'pre',
    transform(source, id) {
      const file = Object.keys(bounds).find((one) => id === join(root, one))
      return file === undefined ? undefined : { code: narrowed(file, source), map: null }
    },
  }
}
