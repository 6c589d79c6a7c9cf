/** A process that holds one side of `window.ts`, and moves its window as it is called to. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { generate } from '../adapters/generate/index.ts'
import { diskBytes, networkOptions } from './dataset.ts'
import { Folio } from './peers/folio.ts'
import { SqliteWindow } from './peers/sqlite-window.ts'
import { answerCalls } from './process.ts'

/** What a number of moves took: milliseconds of each call, and of CPU in all; bytes written, and on disk after them. */
export interface Moves {
  readonly appends: readonly number[]
  readonly prunes: readonly number[]
  readonly cpuMs: number
  readonly written: number
  readonly disk: number
}

export type Calls = {
  /** Appends as many ledgers. */
  fill(ledgers: number): Promise<void>
  /** A digest of the pages at both ends of what is held. */
  ends(): Promise<string>
  /** Appends a ledger and prunes the oldest, over and over. */
  move(times: number): Promise<Moves>
}

const [kind, directory] = process.argv.slice(2) as ['folio' | 'sqlite', string]
const network = generate({ ...networkOptions(false), ledgers: 1_000_000 })

const open = async () => {
  if (kind === 'sqlite') return new SqliteWindow(join(directory, 'history.db'))
  const folio = await Folio.open(directory)
  return Object.assign(folio, { prune: (oldest: number) => folio.ledger.prune(oldest) })
}
const side = await open()
let oldest = 0

/** Milliseconds of work. */
async function timed(work: () => unknown): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

const next = () => network.next().value!

const calls: Calls = {
  async fill(ledgers) {
    for (let nth = 0; nth < ledgers; nth++) {
      const close = next()
      oldest ||= close.ledger.sequence
      await side.append(close)
    }
  },
  async ends() {
    const digest = createHash('sha256')
    for (const what of ['transactions', 'operations', 'effects'] as const)
      for (const order of ['asc', 'desc'] as const)
        for (const part of await side.body(side.prepare({ what, order, limit: 200 }))) digest.update(part)
    return digest.digest('hex')
  },
  async move(times) {
    const closes = Array.from({ length: times }, next)
    const [appends, prunes]: [number[], number[]] = [[], []]
    const [cpu, before] = [process.cpuUsage(), process.resourceUsage().fsWrite]
    for (const close of closes) {
      appends.push(await timed(() => side.append(close)))
      prunes.push(await timed(() => side.prune(++oldest)))
    }
    const { user, system } = process.cpuUsage(cpu)
    const written = (process.resourceUsage().fsWrite - before) * 512
    return { appends, prunes, cpuMs: (user + system) / 1000, written, disk: diskBytes(directory) }
  },
}
answerCalls(calls, () => side.close())
