/** The process that opens and closes, and watches what it holds. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { level } from '../../adapters/level/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { catalogue, type Ledger, openLedger } from '../../src/index.ts'
import { heldBytes } from '../support/held.ts'
import { History } from './history.ts'
import type { Figure } from './stress.ts'

const kept: unknown[] = []

/** Descriptors of this process; none if the system does not tell. */
function descriptors(): number {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return 0
  }
}

interface Used {
  readonly heap: number
  readonly rss: number
  readonly descriptors: number
}

async function used(): Promise<Used> {
  const heap = await heldBytes()
  return { heap, rss: process.memoryUsage().rss, descriptors: descriptors() }
}

export async function handlesChild(plant: string | undefined): Promise<void> {
  const { count, seed } = await new Promise<{ count: number; seed: number }>((resolve) =>
    process.once('message', (said) => resolve(said as never)),
  )
  const folder = mkdtempSync(join(tmpdir(), 'folio-handles-'))
  const history = await History.of({ ledgers: 60, seed })
  const data = join(folder, 'data')
  const first = await openLedger(level(data))
  await first.ingest(history.closes.slice(0, 40), { batch: 40 })
  await first.close()
  // One that stays open: it would hold what streams and walks leave behind.
  const lasting = await openLedger(memory(), { cacheBytes: 4 << 20 })
  await lasting.ingest(history.closes.slice(0, 40))

  const faults: string[] = []
  let base: Used | undefined
  let now: Used = { heap: 0, rss: 0, descriptors: 0 }
  let done = 0
  const every = Math.max(1, Math.min(100, count >> 3))
  for (; done < count && faults.length === 0; done++) {
    if (done % every === 0) {
      now = await used()
      if (done >= Math.min(1000, count / 4)) base ??= now
      process.send!(
        `${done} rounds, ${(now.heap / 2 ** 20).toFixed(1)} MB in use, ${(now.rss / 2 ** 20).toFixed(0)} MB resident, ${now.descriptors} descriptors`,
      )
    }
    try {
      await round(join(folder, 'data'), history, lasting, plant)
    } catch (error) {
      faults.push(`round ${done}: ${error}`)
    }
  }
  now = await used()
  base ??= now
  const grown = { heap: now.heap - base.heap, rss: now.rss - base.rss, descriptors: now.descriptors - base.descriptors }
  if (grown.descriptors > 4) faults.push(`${grown.descriptors} descriptors more`)
  if (lasting.waitingStreams > 0) faults.push(`${lasting.waitingStreams} streams wait still`)
  if (grown.heap > 4 * 2 ** 20) faults.push(`${(grown.heap / 2 ** 20).toFixed(1)} MB more in use`)
  if (grown.rss > 64 * 2 ** 20) faults.push(`${(grown.rss / 2 ** 20).toFixed(0)} MB more resident`)
  await lasting.close()
  rmSync(folder, { recursive: true, force: true })
  const megabytes = (bytes: number): string => `${bytes < 0 ? '' : '+'}${(bytes / 2 ** 20).toFixed(1)} MB`
  const counted = {
    'in use': megabytes(grown.heap),
    resident: megabytes(grown.rss),
    descriptors: `${grown.descriptors < 0 ? '' : '+'}${grown.descriptors}`,
  }
  process.send!({ done, faults, counted } satisfies Figure)
}

/** A ledger over LevelDB opened, walked, streamed and closed; walks and streams of the lasting one left in the middle. */
async function round(data: string, { closes }: History, lasting: Ledger, plant: string | undefined): Promise<void> {
  const open = plant === 'ledgers are not closed'
  const ledger = await openLedger(level(open ? `${data}-${kept.length}` : data))
  if (open) await ledger.ingest(closes.slice(0, 3))
  for (const of of [ledger, lasting]) {
    const walk = of.pages(catalogue.operations, {}, { limit: 10 })
    await walk.next()
    if (plant === 'walks are kept') kept.push(walk, await of.page(catalogue.effects, {}, { limit: 20 }))
    else await walk.return()
    // In the middle of history, and at its end, waiting.
    const reading = of.stream(catalogue.effects, {})
    await reading.next()
    const waiting = of.stream(catalogue.ledgers, {}, { cursor: 'now' })
    const next = waiting.next()
    next.catch(() => {})
    if (plant === 'streams are not ended') continue
    await reading.return()
    await waiting.return()
    await next
  }
  if (open) kept.push(ledger)
  else await ledger.close()
}
