/** Libraries that are preloaded into a process and stand between it and the system: written in C beside the stress that needs them, compiled here. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { root, workshop } from './program.ts'

/** Compiles `<name>.c`; says why where that cannot be done. */
export function preloaded(name: string): { readonly library: string } | { readonly reason: string } {
  if (process.platform !== 'linux') return { reason: 'LD_PRELOAD is of Linux' }
  const library = join(workshop(), `${name}.so`)
  const source = join(root, `test/stress/${name}.c`)
  const { error, status, stderr } = spawnSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl'])
  if (error) return { reason: `no C compiler: ${error.message}` }
  return status === 0 ? { library } : { reason: `${name}.c does not compile here: ${stderr}` }
}
