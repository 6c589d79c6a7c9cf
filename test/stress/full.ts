/**
 * A full disk, at any byte: in a file system of its own that is too small (where it may be mounted), or by the limit that the system sets on
 * the size of a file. The failure is typed, reads go on, nothing that was acknowledged is lost; and when there is space again, a reopen is
 * clean and appends work.
 */
import { type ChildProcess, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FORGETFUL, type Point, type Told } from './full-child.ts'
import { child } from './program.ts'
import { type Ask, Faults, type Figure, random, type Stress } from './stress.ts'

/** A way to run out of space, and to have some again. */
interface Shortage {
  readonly name: string
  limit(bytes: number): void
  free(): void
  end(): void
}

const ran = (command: string, ...args: string[]): boolean => spawnSync(command, args).status === 0
const must = (command: string, ...args: string[]): void => {
  const { status, stderr, error } = spawnSync(command, args)
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error ?? stderr}`)
}

/** No file of the process may grow beyond the limit: any byte, no rights needed. */
const byFileSize = (pid: number): Shortage => ({
  name: 'file size',
  limit: (bytes) => must('prlimit', `--pid=${pid}`, `--fsize=${bytes}:unlimited`),
  free: () => must('prlimit', `--pid=${pid}`, '--fsize=unlimited:unlimited'),
  end: () => {},
})

/** A file system in memory, full for good: to the page. */
const byMount = (folder: string): Shortage => ({
  name: 'tmpfs',
  limit: (bytes) => must('mount', '-t', 'tmpfs', '-o', `size=${Math.max(4096, bytes)}`, 'folio', folder),
  free: () => must('mount', '-o', 'remount,size=64m', folder),
  end: () => void ran('umount', '-l', folder),
})

function mountable(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'folio-mount-'))
  const can = process.getuid?.() === 0 && ran('mount', '-t', 'tmpfs', '-o', 'size=4k', 'folio', folder) && ran('umount', folder)
  rmSync(folder, { recursive: true, force: true })
  return can
}

const answerOf = (process: ChildProcess): Promise<Told> =>
  new Promise((resolve, reject) => {
    const gone = (): void => reject(new Error('the process ended'))
    process.once('exit', gone)
    process.once('message', (told) => {
      process.off('exit', gone)
      resolve(told as Told)
    })
  })

async function tryPoint(
  process: ChildProcess,
  shortage: Shortage,
  bytes: number,
  point: Point,
): Promise<{ full: boolean; faults: readonly string[] }> {
  try {
    shortage.limit(bytes)
    process.send!(point)
    const first = await answerOf(process)
    shortage.free()
    if ('faults' in first) return { full: true, faults: first.faults }
    process.send!('freed')
    const second = await answerOf(process)
    return { full: first.full, faults: 'faults' in second ? second.faults : [] }
  } finally {
    shortage.end()
  }
}

async function run({ count, seed, plant, say }: Ask): Promise<Figure> {
  const counted = { 'file size': 0, tmpfs: 0, 'small buffers': 0, 'default buffers': 0, 'never full': 0 }
  if (!ran('prlimit', '--version')) return { done: 0, faults: [], counted, skipped: 'no prlimit here' }
  const chance = random(`full ${seed}`)
  const faults = new Faults()
  const mounts = mountable()
  const process = await child(['full'], {}, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  let done = 0
  for (let tries = 0; done < count && tries < 3 * count; tries++) {
    const folder = mkdtempSync(join(tmpdir(), 'folio-full-'))
    const disk = join(folder, 'disk')
    mkdirSync(disk)
    const shortage = mounts && chance.chance(0.5) ? byMount(disk) : byFileSize(process.pid!)
    const small = chance.chance(0.5)
    // Small buffers make small logs: they are full early, or in a table, or in the list of tables.
    const most = small && shortage.name === 'file size' ? 90_000 : 900_000
    const bytes = chance.below(chance.pick([3000, most, most]))
    const options = { seed, data: join(disk, 'data'), writeBufferBytes: small ? 64 << 10 : undefined, plant }
    const point = { ...options, batch: chance.pick([1, undefined, 5]), impatient: chance.chance(0.3) }
    const { full, faults: found } = await tryPoint(process, shortage, bytes, point)
    rmSync(folder, { recursive: true, force: true })
    faults.add(...found.map((fault) => `${shortage.name}, ${bytes} bytes, ${small ? 'small' : 'default'} buffers: ${fault}`))
    if (!full) counted['never full']++
    else {
      done++
      counted[shortage.name as 'tmpfs']++
      counted[small ? 'small buffers' : 'default buffers']++
      if (done % 20 === 0) say?.(`${done} points, ${faults.count} faults`)
    }
    if (plant !== undefined && faults.count > 0) break
  }
  process.kill()
  return { done, faults: faults.list, counted }
}

export const full: Stress = {
  name: 'full',
  unit: 'points at which the disk was full, LevelDB',
  full: 200,
  plants: { 'the result of a write is ignored': 30, [FORGETFUL]: 30 },
  run,
}
