/**
 * As little memory for each side: a control group of Linux holds one process, and the part of the page cache that its files take. Whoever reads a part
 * of a file first has it counted, so each process reads a copy that nobody else reads.
 */
import { cpSync, existsSync, mkdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

const PROCESSES = 'cgroup.procs'
/** The groups of either version, and the file that says how much memory one may take. */
const VERSIONS = [
  { root: '/sys/fs/cgroup/memory', limit: 'memory.limit_in_bytes' },
  { root: '/sys/fs/cgroup', limit: 'memory.max' },
] as const

/**
 * Gives this process so much memory, and a copy of its data; both go once it ends. Called before it has opened anything.
 * @returns where the copy lies
 */
export function confined(path: string, mib: number): string {
  const version = VERSIONS.find(({ root }) => existsSync(join(root, PROCESSES)))
  if (!version) throw new Error('--memory-mib takes control groups, which only Linux has')
  const group = join(version.root, `folio-bench-${process.pid}`)
  const folder = `${path}-${process.pid}`
  const move = (to: string): void => writeFileSync(join(to, PROCESSES), String(process.pid))
  mkdirSync(group)
  process.once('exit', () => {
    rmSync(folder, { recursive: true, force: true })
    move(version.root)
    rmdirSync(group)
  })
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
  writeFileSync(join(group, version.limit), String(mib * 2 ** 20))
  move(group)
  const copy = join(folder, basename(path))
  cpSync(path, copy, { recursive: true })
  return copy
}
