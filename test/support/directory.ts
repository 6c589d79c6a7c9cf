/** Places on disk that are gone after the test. */
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** A directory made for the test. */
export function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'folio-test-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}
