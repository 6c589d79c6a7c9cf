/** NDJSON of ledger closes, one per line, plain or gzip: read with every digit exact, in bounded memory, each close knowing its line. */
export { type IngestClosesOptions, ingestCloses } from './ingest.ts'
export { locateError, type Origin, originOf } from './origin.ts'
export { type ReadClosesOptions, readCloses } from './read.ts'
export type { ByteOptions, Source } from './source.ts'
