/** A service in a process of its own that commits at a steady pace, seen from the process that asks it. */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Growth, GrowthSaid } from './grow-child.ts'
import { child } from './program.ts'

export class Grown {
  readonly port: number
  /** The newest ledger that it has acknowledged. */
  newest = 0
  /** The most memory that it was seen to take, in bytes. */
  rss = 0
  /** The slowest commit, in milliseconds. */
  slowest = 0
  private readonly process: ChildProcess
  private readonly folder: string
  private readonly timer: NodeJS.Timeout

  private constructor(process: ChildProcess, folder: string, port: number) {
    this.process = process
    this.folder = folder
    this.port = port
    process.on('message', (said: GrowthSaid) => {
      if ('rss' in said) this.rss = Math.max(this.rss, said.rss)
      if (!('ledger' in said)) return
      this.newest = said.ledger
      this.slowest = Math.max(this.slowest, said.commitMs)
    })
    this.timer = setInterval(() => process.connected && process.send('memory'), 250)
  }

  static async start(growth: Omit<Growth, 'data'>): Promise<Grown> {
    const folder = mkdtempSync(join(tmpdir(), 'folio-grow-'))
    const server = await child(['grow'], {}, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    const listening = new Promise<number>((resolve, reject) => {
      server.once('message', (said: GrowthSaid) => 'port' in said && resolve(said.port))
      server.once('exit', (code) => reject(new Error(`the service has ended with ${code}`)))
    })
    server.send({ ...growth, data: join(folder, 'data') } satisfies Growth)
    return new Grown(server, folder, await listening)
  }

  /** It has ended by itself. */
  get dead(): boolean {
    return this.process.exitCode !== null
  }

  /** Lets it commit from now on. */
  go(): void {
    this.process.send('go')
  }

  stop(): void {
    clearInterval(this.timer)
    this.process.kill('SIGKILL')
    rmSync(this.folder, { recursive: true, force: true })
  }
}
