/** The program that stresses run in processes of its own, built once per process. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'tsup'

/** The repository: the built runner lies elsewhere than its source. */
function rootFrom(folder: string): string {
  return existsSync(join(folder, 'test/stress/child.ts')) ? folder : rootFrom(dirname(folder))
}
export const root = rootFrom(dirname(fileURLToPath(import.meta.url)))

let built: Promise<string> | undefined

/** A folder for what is built here, within the package, so that dependencies are found; gone when the process ends. */
export function workshop(): string {
  const cache = join(root, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'stress-'))
  if (folders.push(folder) === 1) process.on('exit', sweep)
  return folder
}

const folders: string[] = []

/** Removes what was built; for processes that do not reach their end. */
export function sweep(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
}

async function compile(): Promise<string> {
  const outDir = workshop()
  const entry = { child: join(root, 'test/stress/child.ts') }
  // Dependencies are bundled: the program starts in a third of the time. Those that are CommonJS want `require`.
  const banner = { js: "import { createRequire as newRequire } from 'node:module'; const require = newRequire(import.meta.url);" }
  const bundle = { noExternal: [/^(?!classic-level|lmdb)/], banner }
  await build({ entry, outDir, ...bundle, config: false, format: 'esm', target: 'node20', silent: true })
  return join(outDir, 'child.js')
}

/** What a child is told besides its arguments. */
export interface ChildSetup {
  readonly plant?: string | undefined
  readonly writeBufferBytes?: number | undefined
}

/** Starts the program. Its first argument says what it does; see `child.ts`. */
export async function child(args: readonly string[], setup: ChildSetup = {}, options: SpawnOptions = {}): Promise<ChildProcess> {
  built ??= compile()
  const env = { ...process.env, NODE_OPTIONS: '', FOLIO_STRESS: JSON.stringify(setup), ...options.env }
  return spawn(process.execPath, [await built, ...args], { stdio: ['pipe', 'pipe', 'pipe'], ...options, env })
}
