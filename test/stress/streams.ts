/**
 * Thousands of event streams of one service, while it commits: most read at once, some slowly, some not at all, some come and go.
 * Those that read get every record once and in order, and so do those that come and go and those that are slow, cut off or not; those that do not
 * read are cut off; and memory is bounded.
 */
import { Follower } from './follower.ts'
import { Grown } from './grown.ts'
import { History } from './history.ts'
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

/** Waits as long as something arrives: a busy machine is not a fault. */
async function progress(counted: () => number, done: () => boolean, say: (line: string) => void): Promise<void> {
  for (let before = -1; !done() && counted() > before; ) {
    before = counted()
    await until(done, 30)
    say(`${before} events`)
  }
}

/** Reads a bit, and rests; sometimes longer than it may, so that it is cut off and resumes the stream. */
async function slowly(one: Follower, chance: Chance, ended: () => boolean): Promise<void> {
  // What a system buffers for a reader grows with what it reads: the first rest is the one that is noticed.
  for (let fresh = true; !ended(); fresh = false) {
    if (one.over && !one.done) one.resume()
    one.socket?.pause()
    for (let rest = chance.chance(fresh ? 0.6 : 0.02) ? STALL_MS + 2000 : 300; rest > 0 && !ended(); rest -= 300) await wait(300)
    one.socket?.resume()
    await wait(2)
  }
}

/** Goes away in the middle of anything, and comes back. */
async function flapping(one: Follower, chance: Chance, ended: () => boolean): Promise<void> {
  while (!ended()) {
    await wait(chance.below(800))
    if (one.done) continue
    one.cut()
    await wait(chance.below(50))
    one.resume()
  }
}

type Chance = ReturnType<typeof random>

/** All that follow one service. */
class Crowd {
  readonly fast: Follower[] = []
  readonly deaf: Follower[] = []
  readonly slow: Follower[] = []
  readonly flapping: Follower[] = []
  private readonly grown: Grown
  private readonly history: History
  private readonly faults: Faults
  private readonly chance: Chance
  private readonly tokens = new Map<string, readonly string[]>()

  constructor(grown: Grown, history: History, faults: Faults, chance: Chance) {
    this.grown = grown
    this.history = history
    this.faults = faults
    this.chance = chance
  }

  /** Follows a listing, from its beginning or from what was there before the commits. */
  private follow(path: string, fromTheStart: boolean): Follower {
    const records = this.history.seen(path)
    const wanted = this.tokens.get(path) ?? records.map(({ token }) => token)
    this.tokens.set(path, wanted)
    const held = records.findIndex(({ ledger }) => ledger >= this.history.first + INITIAL)
    const from = fromTheStart ? 0 : held < 0 ? records.length : held
    const one = new Follower({ port: this.grown.port, path, wanted, from, fault: (what) => this.faults.add(what) })
    one.connect()
    return one
  }

  /** A hundredth of them do not read, a two-hundredth read slowly, as many come and go. */
  async assemble(count: number, say: (line: string) => void): Promise<void> {
    const { chance, history, fast } = this
    const share = (part: number): unknown[] => Array(Math.max(5, Math.floor(count / part))).fill(0)
    const rest = count - share(100).length - 2 * share(200).length
    // An account that does not exist yet has no stream.
    const ofAccounts = history.accounts
      .map((account) => `/accounts/${account}/operations`)
      .filter((path) => history.seen(path).some(({ ledger }) => ledger < history.first + INITIAL))
    while (fast.length < rest) {
      const path = chance.pick(['/ledgers', '/ledgers', '/ledgers', '/transactions', '/operations', '/effects', chance.pick(ofAccounts)])
      fast.push(this.follow(path, fast.length % 200 === 0))
      if (fast.length % 200 > 0) continue
      await until(() => fast.every(({ greeted }) => greeted), 30)
      if (fast.length % 2000 === 0) say(`${fast.length} streams, ${Math.round(this.grown.rss / 2 ** 20)} MB`)
    }
    for (const _ of share(100)) this.deaf.push(this.follow('/transactions', true))
    for (const _ of share(200)) this.slow.push(this.follow('/transactions', true))
    for (const { socket } of [...this.deaf, ...this.slow]) socket!.pause()
    for (const [i] of share(200).entries())
      this.flapping.push(this.follow(chance.pick(['/effects', '/operations', '/ledgers']), i % 2 === 0))
    await until(() => [...fast, ...this.flapping].every(({ greeted }) => greeted), 60)
  }

  get readers(): readonly Follower[] {
    return [...this.fast, ...this.slow, ...this.flapping]
  }

  get events(): number {
    return this.readers.reduce((sum, { at, given: { from } }) => sum + at - from, 0)
  }

  /** Everything was committed, and everyone had time to read it. */
  judge(): void {
    for (const { done, at, given } of this.readers)
      if (!done) this.faults.add(`a record did not come: ${at} of ${given.wanted.length} of ${given.path}`)
    for (const { over } of this.fast) if (over) this.faults.add('a stream that was read has been ended')
  }

  /** A stream that was cut off sees it as soon as it reads. Returns how many were. */
  async listen(): Promise<number> {
    const { deaf } = this
    await wait(STALL_MS)
    for (const { socket } of deaf) socket!.resume()
    await until(() => deaf.every(({ over }) => over), 10)
    const cut = deaf.filter(({ over, done }) => over && !done).length
    if (cut < deaf.length) this.faults.add(`${deaf.length - cut} of ${deaf.length} streams that nobody read were not cut off`)
    return cut
  }

  leave(): void {
    for (const one of [...this.readers, ...this.deaf]) one.cut()
  }
}

async function run({ count, seed, plant, say = () => {} }: Ask): Promise<Figure> {
  const network = { ledgers: INITIAL + COMMITS, seed }
  const history = await History.of(network)
  const streamStallMs = plant === NEVER_CUT ? 600_000 : STALL_MS
  // On a machine that stalls for seconds, a request may be read late.
  const patient = { headersMs: 120_000, requestMs: 120_000, drainMs: 0 }
  const limits = { ...patient, maxStreams: count + 500, maxConnections: count + 1000, streamStallMs }
  const grown = await Grown.start({ ...network, initial: INITIAL, everyMs: count > 1000 ? 500 : 100, limits, plant })
  const faults = new Faults()
  const chance = random(`streams ${seed}`)
  const crowd = new Crowd(grown, history, faults, chance)
  await crowd.assemble(count, say)
  let over = false
  const ended = (): boolean => over
  const moving = [...crowd.slow.map((one) => slowly(one, chance, ended)), ...crowd.flapping.map((one) => flapping(one, chance, ended))]
  grown.go()
  await until(() => grown.newest === history.last || grown.dead, 300)
  await progress(
    () => crowd.events,
    () => crowd.readers.every(({ done }) => done) || faults.count > 0,
    say,
  )
  crowd.judge()
  const cut = await crowd.listen()
  if (grown.rss > MOST) faults.add(`${Math.round(grown.rss / 2 ** 20)} MB resident`)
  if (grown.dead) faults.add('the service has ended')
  over = true
  await Promise.all(moving)
  crowd.leave()
  grown.stop()
  const resumed = (of: readonly Follower[]): number => of.reduce((sum, one) => sum + one.resumed, 0)
  const { events } = crowd
  const counted = {
    ...{ stalled: crowd.deaf.length, 'cut off': cut, slow: crowd.slow.length, 'slow resumed': resumed(crowd.slow) },
    ...{
      flapping: crowd.flapping.length,
      'taken up again': resumed(crowd.flapping),
      events,
      memory: `${Math.round(grown.rss / 2 ** 20)} MB`,
    },
  }
  return { done: count, faults: faults.list, counted }
}

export const streams: Stress = {
  name: 'streams',
  unit: 'event streams',
  full: 10_000,
  plants: { 'a page in fifty lacks its last record': 100, [NEVER_CUT]: 60 },
  run,
}
