/**
 * A PostgreSQL server of one's own, on a socket in its data directory. It ends with the process that started it, however that ends: a shell holds
 * the other end of a pipe and stops the server once the pipe breaks.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { delimiter, join, relative, resolve } from 'node:path'
import type { Writable } from 'node:stream'
import type { ServerUse } from '../contender.ts'

/** The user that `initdb` makes. */
export const USER = 'folio'
const MB = 2 ** 20
/** Ticks of the times in /proc, which Linux gives in hundredths of a second on every machine. */
const TICK_MS = 10

const SETTINGS: Readonly<Record<string, string | number>> = {
  listen_addresses: '',
  unix_socket_directories: '.',
  // A quarter of the memory, as its manual advises: all of this history fits.
  shared_buffers: `${Math.floor(totalmem() / 4 / MB)}MB`,
  // Nobody follows this server, so its log needs less; and it is long enough that no checkpoint has to hurry.
  wal_level: 'minimal',
  max_wal_senders: 0,
  max_wal_size: '2GB',
  // A statement is planned once; one that is planned while its tables are empty must not read them from end to end for ever.
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  jit: 'off',
  max_parallel_workers_per_gather: 0,
}

/** Starts `$@`, and stops it once nobody holds the other end of descriptor 3. */
const GUARD = '"$@" 3<&- & server=$!; { cat; kill -INT $server; } <&3 >/dev/null & wait $server'

const has = (folder: string): boolean => ['postgres', 'initdb'].every((name) => existsSync(join(folder, name)))

function said(command: string, ...values: string[]): string | undefined {
  try {
    return execFileSync(command, values, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return undefined
  }
}

/** The directory of the server's programs: FOLIO_POSTGRES, or else on the path, or where `pg_config` says. */
function programs(): string | undefined {
  const { FOLIO_POSTGRES, PATH = '' } = process.env
  const folders = FOLIO_POSTGRES === undefined ? [...PATH.split(delimiter), said('pg_config', '--bindir') ?? ''] : [FOLIO_POSTGRES]
  const found = folders.find((folder) => folder !== '' && has(folder))
  return found === undefined ? undefined : resolve(found)
}

/** Why no server can be started here. */
export function postgresMissing(): string | undefined {
  if (programs() !== undefined) return undefined
  const { FOLIO_POSTGRES } = process.env
  return FOLIO_POSTGRES === undefined
    ? 'PostgreSQL is not here: neither PATH nor pg_config leads to postgres and initdb; FOLIO_POSTGRES may name their directory'
    : `PostgreSQL is not here: FOLIO_POSTGRES is ${FOLIO_POSTGRES}, where postgres and initdb are not both`
}

/** PostgreSQL refuses to run as root, who starts it as another user instead. */
function user(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const name = ['postgres', 'nobody'].find((one) => said('id', '-u', one) !== undefined)
  if (name === undefined) throw new Error('PostgreSQL does not run as root, and there is no user postgres or nobody')
  return { uid: Number(said('id', '-u', name)), gid: Number(said('id', '-g', name)) }
}

/** What one process uses, and what its children used that have ended. */
interface ProcessUse {
  readonly cpuMs: number
  readonly systemMs: number
  readonly ended: { readonly cpuMs: number; readonly systemMs: number }
  readonly ownBytes: number
  readonly sharedBytes: number
}

/** Nothing of a process that has ended meanwhile. */
function useOf(id: string): ProcessUse | undefined {
  try {
    const status = readFileSync(`/proc/${id}/status`, 'utf8')
    const bytes = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) * 1024
    const stat = readFileSync(`/proc/${id}/stat`, 'utf8')
    // The name, in parentheses, may have spaces; the times are the 14th to 17th members.
    const members = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [user, system, endedUser, endedSystem] = members.slice(11, 15).map((ticks) => Number(ticks) * TICK_MS) as [
      number,
      number,
      number,
      number,
    ]
    return {
      ...{ cpuMs: user + system, systemMs: system, ended: { cpuMs: endedUser + endedSystem, systemMs: endedSystem } },
      ...{ ownBytes: bytes('RssAnon'), sharedBytes: bytes('RssShmem') },
    }
  } catch {
    return undefined
  }
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)

export class PostgresServer {
  /** Its path from here: the whole one may be longer than that of a socket can be. */
  readonly socket: string
  private readonly shell: ChildProcess
  private readonly ended: Promise<void>
  private readonly id: string

  private constructor(directory: string, shell: ChildProcess, ended: Promise<void>) {
    this.socket = relative('', join(directory, '.s.PGSQL.5432'))
    this.shell = shell
    this.ended = ended
    this.id = readFileSync(join(directory, 'postmaster.pid'), 'utf8').split('\n')[0]!
  }

  /** @param directory made if there is none */
  static async start(directory: string): Promise<PostgresServer> {
    const folder = programs()
    if (folder === undefined) throw new Error(postgresMissing())
    mkdirSync(directory, { recursive: true })
    const as = user()
    if (as) execFileSync('chown', ['-R', `${as.uid}:${as.gid}`, directory])
    const options = { ...as, cwd: directory }
    if (!existsSync(join(directory, 'PG_VERSION'))) {
      const values = ['-D', directory, '-U', USER, '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync']
      execFileSync(join(folder, 'initdb'), values, { ...options, stdio: ['ignore', 'ignore', 'pipe'] })
    }
    const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    // In a session of its own, so that an interrupt from the keyboard reaches it only through the pipe.
    const shell = spawn('sh', ['-c', GUARD, 'sh', join(folder, 'postgres'), '-D', directory, ...settings], {
      ...{ ...options, detached: true },
      stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    })
    const ended = new Promise<void>((done) => shell.once('exit', () => done()))
    await new Promise<void>((ready, failed) => {
      let log = ''
      shell.stderr!.setEncoding('utf8').on('data', (text: string) => {
        log += text
        if (log.includes('ready to accept connections')) ready()
      })
      shell.once('error', failed)
      ended.then(() => {
        letGo(shell)
        failed(new Error(`PostgreSQL did not start:\n${log}`))
      })
    })
    return new PostgresServer(directory, shell, ended)
  }

  /** Its CPU time, those of its processes included that have ended, and its memory, what they share counted once. NaN where there is no /proc. */
  use(): ServerUse {
    if (process.platform !== 'linux') return { cpuMs: Number.NaN, systemMs: Number.NaN, bytes: Number.NaN }
    const { id } = this
    const children = readFileSync(`/proc/${id}/task/${id}/children`, 'utf8').split(' ').filter(Boolean)
    // The server itself comes last: a process that ends before it is read is among those that have ended.
    const all = [...children, id].map(useOf).filter((one) => one !== undefined)
    const times = [...all, all.at(-1)!.ended]
    return {
      cpuMs: sum(times.map(({ cpuMs }) => cpuMs)),
      systemMs: sum(times.map(({ systemMs }) => systemMs)),
      bytes: sum(all.map(({ ownBytes }) => ownBytes)) + Math.max(...all.map(({ sharedBytes }) => sharedBytes)),
    }
  }

  async stop(): Promise<void> {
    letGo(this.shell)
    await this.ended
  }
}

const letGo = (shell: ChildProcess): void => {
  ;(shell.stdio[3] as Writable).destroy()
}
