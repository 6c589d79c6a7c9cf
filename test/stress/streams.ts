/**
 * Thousands of event streams of one service, while it commits: most read at once, some slowly, some not at all, some come and go.
 * Those that read get every record once and in order, those that come and go too; slow ones as well, cut or not; those that do not read are
 * cut off; and memory is bounded.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Follower } from './follower.ts'
import type { Growth, GrowthSaid } from './grow-child.ts'
import { History } from './history.ts'
import { child } from './program.ts'
import { type Ask, Faults, type Figure, random, type Stress, wait } from './stress.ts'

const INITIAL = 700
const COMMITS = 40
const STALL_MS = 5000
const MOST = 600 * 2 ** 20
const NEVER_CUT = 'who does not read is never cut off'

async function until(what: () => boolean, seconds: number): Promise<boolean> {
  for (const end = performance.now() + 1000 * seconds; !what(); ) {
    if (performance.now() > end) return false
    await wait(50)
  }
  return true
}

/** Reads a bit, and rests; some of the time longer than it may, so that it is cut off and takes the stream up again. */
async function slowly(one: Follower, chance: ReturnType<typeof random>, ended: () => boolean): Promise<void> {
  // What a system keeps for a reader grows with what he reads: the first rest is the one that is noticed.
  for (let fresh = true; !ended(); fresh = false) {
    if (one.over && !one.done) one.resume()
    one.socket?.pause()
    for (let rest = chance.chance(fresh ? 0.6 : 0.02) ? STALL_MS + 2000 : 300; rest > 0 && !ended(); rest -= 300) await wait(300)
    one.socket?.resume()
    await wait(2)
  }
}

/** Goes away in the middle of anything, and comes back. */
async function flapping(one: Follower, chance: ReturnType<typeof random>, ended: () => boolean): Promise<void> {
  while (!ended()) {
    await wait(chance.below(800))
    if (one.done) continue
    one.cut()
    await wait(chance.below(50))
    one.resume()
  }
}

async function run({ count, seed, plant, say }: Ask): Promise<Figure> {
  const folder = mkdtempSync(join(tmpdir(), 'folio-streams-'))
  const network = { ledgers: INITIAL + COMMITS, seed }
  const history = await History.of(network)
  const server = await child(['grow'], {}, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const faults = new Faults()
  const seen = { newest: 0, rss: 0 }
  const listening = new Promise<number>((resolve) => {
    server.on('message', (said: GrowthSaid) => {
      if ('port' in said) resolve(said.port)
      else if ('rss' in said) seen.rss = Math.max(seen.rss, said.rss)
      else seen.newest = said.ledger
    })
  })
  const limits = {
    maxStreams: count + 500,
    maxConnections: count + 1000,
    streamStallMs: plant === NEVER_CUT ? 600_000 : STALL_MS,
    drainMs: 0,
  }
  const growth: Growth = { ...network, data: join(folder, 'data'), initial: INITIAL, everyMs: count > 1000 ? 500 : 100, limits, plant }
  server.send(growth)
  const port = await listening
  const memory = setInterval(() => server.connected && server.send('memory'), 250)

  const chance = random(`streams ${seed}`)
  const tokens = new Map<string, readonly string[]>()
  const follow = (path: string, fromTheStart: boolean): Follower => {
    const records = history.seen(path)
    if (!tokens.has(path))
      tokens.set(
        path,
        records.map(({ token }) => token),
      )
    const held = records.findIndex(({ ledger }) => ledger >= history.first + INITIAL)
    const from = fromTheStart ? 0 : held < 0 ? records.length : held
    const one = new Follower({ port, path, wanted: tokens.get(path)!, from, fault: (what) => faults.add(what) })
    one.connect()
    return one
  }
  const account = (): string => `/accounts/${chance.pick(history.accounts)}/operations`
  const pathOf = (): string => chance.pick(['/ledgers', '/ledgers', '/ledgers', '/transactions', '/operations', '/effects', account()])
  const [stalled, slow, flaps] = [Math.max(5, count / 100), Math.max(5, count / 200), Math.max(5, count / 200)].map(Math.floor) as [
    number,
    number,
    number,
  ]
  const fast: Follower[] = []
  while (fast.length < count - stalled - slow - flaps) {
    fast.push(follow(pathOf(), fast.length % 200 === 0))
    if (fast.length % 200 > 0) continue
    await until(() => fast.every(({ greeted }) => greeted), 30)
    if (fast.length % 2000 === 0) say?.(`${fast.length} streams, ${Math.round(seen.rss / 2 ** 20)} MB`)
  }
  const deaf = Array.from({ length: stalled }, () => follow('/transactions', true))
  for (const { socket } of deaf) socket!.pause()
  let ended = false
  const slowOnes = Array.from({ length: slow }, () => follow('/transactions', true))
  const flapOnes = Array.from({ length: flaps }, (_, i) => follow(chance.pick(['/effects', '/operations', '/ledgers']), i % 2 === 0))
  const moving = [...slowOnes.map((one) => slowly(one, chance, () => ended)), ...flapOnes.map((one) => flapping(one, chance, () => ended))]

  await until(() => [...fast, ...flapOnes].every(({ greeted }) => greeted), 60)
  server.send('go')
  await until(() => seen.newest === history.last || server.exitCode !== null, 300)
  const readers = [...fast, ...slowOnes, ...flapOnes]
  await until(() => readers.every(({ done }) => done) || faults.count > 0, 120)
  for (const one of readers)
    if (!one.done) faults.add(`a record did not come: ${one.at} of ${one.given.wanted.length} of ${one.given.path}`)
  for (const one of fast) if (one.over) faults.add('a stream that was read has been ended')
  // Who has been cut off sees it as soon as he reads.
  await wait(STALL_MS)
  for (const { socket } of deaf) socket!.resume()
  await until(() => deaf.every(({ over }) => over), 10)
  const cut = deaf.filter(({ over, done }) => over && !done).length
  if (cut < deaf.length) faults.add(`${deaf.length - cut} of ${deaf.length} streams that nobody read were not cut off`)
  if (seen.rss > MOST) faults.add(`${Math.round(seen.rss / 2 ** 20)} MB resident`)
  if (server.exitCode !== null) faults.add(`the server has ended with ${server.exitCode}`)
  ended = true
  clearInterval(memory)
  await Promise.all(moving)
  for (const one of [...readers, ...deaf]) one.cut()
  server.kill()
  rmSync(folder, { recursive: true, force: true })
  const events = readers.reduce((sum, { at, given: { from } }) => sum + at - from, 0)
  const resumed = slowOnes.reduce((sum, one) => sum + one.resumed, 0)
  const counted = {
    stalled,
    'cut off': cut,
    slow,
    'slow resumed': resumed,
    flapping: flaps,
    'taken up again': flapOnes.reduce((sum, one) => sum + one.resumed, 0),
  }
  return { done: count, faults: faults.list, counted: { ...counted, events, memory: `${Math.round(seen.rss / 2 ** 20)} MB` } }
}

export const streams: Stress = {
  name: 'streams',
  unit: 'event streams',
  full: 10_000,
  plants: { 'a page in fifty lacks its last record': 100, [NEVER_CUT]: 60 },
  run,
}
