/**
 * The program under stress: `cli …` is the command line as it is shipped, over a store in which a bug may be planted; `full` fills its disk;
 * `serve` serves a small network over HTTP; `grow` commits and serves; `handles` opens and closes; `crowd` does so beside others.
 */
import { stores } from '../../adapters/cli/stores.ts'
import { level } from '../../adapters/level/index.ts'
import { crowdChild } from './crowd-child.ts'
import { fullChild } from './full-child.ts'
import { growChild } from './grow-child.ts'
import { handlesChild } from './handles-child.ts'
import { planted } from './plants.ts'
import type { ChildSetup } from './program.ts'
import { serveChild } from './serve-child.ts'

const { plant, writeBufferBytes } = JSON.parse(process.env['FOLIO_STRESS'] ?? '{}') as ChildSetup
const [, program, role, ...args] = process.argv

async function cli(): Promise<void> {
  stores.level.open = async (data, { mustExist, damaged }) =>
    planted(await level(data, { mustExist, writeBufferBytes, ...(damaged && { checkFiles: false }) }), plant)
  const { open } = stores.lmdb
  stores.lmdb.open = async (data, options) => planted(await open(data, options), plant)
  process.argv = [process.execPath, program!, ...args]
  await import('../../adapters/cli/index.ts')
}

const roles: Readonly<Record<string, () => Promise<void>>> = {
  cli,
  crowd: () => crowdChild(args, plant),
  full: fullChild,
  serve: () => serveChild(plant),
  grow: growChild,
  handles: () => handlesChild(plant),
}

await roles[role!]!()
