import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { level } from '../../adapters/level/index.ts'
import { full } from './full.ts'
import { FORGETFUL } from './full-child.ts'
import { holds } from './support.ts'

holds(full, 10, [FORGETFUL])

test.each([
  [['MANIFEST-000001', 'LOCK', 'LOG'], 'opens'],
  [['MANIFEST-000001', '000003.log'], 'CORRUPT'],
  [['MANIFEST-000002'], 'CORRUPT'],
  [['CURRENT', 'LOCK'], 'opens'],
  [['CURRENT', 'MANIFEST-000001'], 'opens'],
  [['CURRENT', '000003.log'], 'opens'],
  [['CURRENT', 'MANIFEST-000002'], 'opens'],
  [['CURRENT', 'MANIFEST-000004'], 'CORRUPT'],
  [['CURRENT', '000005.ldb'], 'CORRUPT'],
])('of a store whose creation was cut short, %j is left: %s', async (names, outcome) => {
  const data = mkdtempSync(join(tmpdir(), 'folio-cut-'))
  onTestFinished(() => rmSync(data, { recursive: true }))
  for (const name of names) writeFileSync(join(data, name), name === 'CURRENT' ? 'MANIFEST-000001\n' : '')
  const told = await level(data).then(
    async (store) => {
      await store.close()
      return 'opens'
    },
    (error) => error.code,
  )
  expect(told).toBe(outcome)
})
