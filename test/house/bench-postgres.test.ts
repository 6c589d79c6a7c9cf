/** The server that `bench/` measures against: where it is not, that is said; where it is, it runs in a directory of its own and leaves nothing behind. */
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { PostgresServer, postgresMissing } from '../../bench/peers/postgres-server.ts'

const isMissing = postgresMissing() !== undefined
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'folio-postgres-'))
  // The server may run as another user.
  chmodSync(folder, 0o755)
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

test('a directory without its programs is named', () => {
  vi.stubEnv('FOLIO_POSTGRES', folder)
  expect(postgresMissing()).toBe(`PostgreSQL is not here: FOLIO_POSTGRES is ${folder}, where postgres and initdb are not both`)
})

test('a path that leads to none is said to', () => {
  vi.stubEnv('FOLIO_POSTGRES', undefined)
  vi.stubEnv('PATH', folder)
  expect(postgresMissing()).toMatch(/^PostgreSQL is not here: neither PATH nor pg_config leads to postgres and initdb/)
})

test.skipIf(isMissing)('a server is started, tells what it uses, and stops', { timeout: 60_000 }, async () => {
  const directory = join(folder, 'data')
  const server = await PostgresServer.start(directory)
  expect(existsSync(server.socket)).toBe(true)
  if (process.platform === 'linux') expect(Math.min(...Object.values(server.use()))).toBeGreaterThan(0)
  await server.stop()
  expect(existsSync(server.socket)).toBe(false)
  expect(existsSync(join(directory, 'postmaster.pid'))).toBe(false)
})

test.skipIf(isMissing)('what keeps a server from starting is in the error', { timeout: 60_000 }, async () => {
  writeFileSync(join(folder, 'PG_VERSION'), '1\n')
  await expect(PostgresServer.start(folder)).rejects.toThrow(/PostgreSQL did not start:\n.*could not access the server configuration file/)
})
