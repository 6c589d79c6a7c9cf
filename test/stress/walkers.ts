/**
 * A service that commits 50 ledgers a second, and eight clients that walk its listings by the links of its pages meanwhile.
 * No ledger shows in part, no record is missing, no page is short before the end, and no link leads nowhere.
 */
import { Agent, get } from 'node:http'
import { pagePlants } from './grow-child.ts'
import { Grown } from './grown.ts'
import { History } from './history.ts'
import { type Ask, Faults, type Figure, type Stress, wait } from './stress.ts'

const PER_SECOND = 50

/** What is walked of an account. */
const lists = ['operations', 'effects']

interface Wanted {
  readonly ledger: number
  readonly token: string
}

/** What is known of the service from outside. */
class World {
  readonly base: string
  readonly history: History
  readonly agent: Agent
  readonly faults: Faults
  pages = 0
  over = false
  private readonly grown: Grown

  constructor(grown: Grown, history: History, agent: Agent, faults: Faults) {
    this.grown = grown
    this.base = `http://127.0.0.1:${grown.port}`
    this.history = history
    this.agent = agent
    this.faults = faults
  }

  /** The newest ledger that was acknowledged. */
  get acknowledged(): number {
    return Math.max(this.history.first, this.grown.newest)
  }
}

type Body = { readonly _embedded: { readonly records: readonly Record[] }; readonly _links: Links }
type Links = { readonly [name in 'self' | 'next' | 'prev']: { readonly href: string } }
interface Record {
  readonly paging_token: string
  readonly _links: { readonly [name: string]: { readonly href: string; readonly templated?: boolean } }
}

function ask(world: World, url: string): Promise<{ readonly status: number; readonly body: any }> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: world.agent }, async (response) => {
      const parts: Buffer[] = []
      for await (const part of response) parts.push(part as Buffer)
      resolve({ status: response.statusCode!, body: JSON.parse(Buffer.concat(parts).toString()) })
    })
    request.once('error', reject)
  })
}

/** Reads a page; a link that leads nowhere is a fault. */
async function page(world: World, url: string): Promise<Body | undefined> {
  const { status, body } = await ask(world, url)
  world.pages++
  if (status === 200) return body
  world.faults.add(`a link leads nowhere: ${status} for ${url}`)
  return undefined
}

/** Walks a listing from its beginning, page by page, and then follows what is new, as long as it may. */
async function forwards(world: World, path: string, limit: number): Promise<void> {
  const wanted = world.history.seen(path)
  let at = 0
  let url = `${world.base}${path}?limit=${limit}`
  // An account is unknown before the first record that affects it.
  while (!world.over && world.acknowledged < wanted[0]!.ledger) await wait(20)
  while (!world.over && world.faults.count < 20) {
    const acknowledged = world.acknowledged
    const body = await page(world, url)
    if (!body) return
    const { records } = body._embedded
    if (!inStep(world, path, records, wanted, at)) return
    at += records.length
    // Not full: then it ends where the service ended, which is with a whole ledger, no older than what was acknowledged before.
    if (records.length < limit) whole(world, path, wanted, at, acknowledged)
    url = body._links.next.href
    if (records.length > 0) await links(world, records[records.length >> 1]!, body)
    if (records.length < limit) await wait(10)
  }
}

function inStep(world: World, path: string, records: readonly Record[], wanted: readonly Wanted[], from: number, step = 1): boolean {
  const wrong = records.findIndex(({ paging_token }, i) => paging_token !== wanted[from + i * step]?.token)
  if (wrong < 0) return true
  world.faults.add(`a gap in ${path}: ${records[wrong]!.paging_token} in place of ${wanted[from + wrong * step]?.token}`)
  return false
}

function whole(world: World, path: string, wanted: readonly Wanted[], at: number, acknowledged: number): void {
  const [last, next] = [wanted[at - 1], wanted[at]]
  if (!next) return
  if (next.ledger <= acknowledged)
    world.faults.add(`a short page of ${path}: it ends before ${next.token} of ${next.ledger}, and ${acknowledged} was acknowledged`)
  if (next.ledger === last?.ledger) world.faults.add(`half a ledger in ${path}: ${next.ledger} without ${next.token}`)
}

/** Walks a listing from its newest record to its oldest, again and again. */
async function backwards(world: World, path: string, limit: number): Promise<void> {
  const wanted = world.history.seen(path)
  const places = new Map(wanted.map(({ token }, place) => [token, place]))
  while (!world.over && world.faults.count < 20) {
    const acknowledged = world.acknowledged
    let url = `${world.base}${path}?limit=${limit}&order=desc`
    let at: number | undefined
    while (!world.over && url !== '') {
      const body = await page(world, url)
      if (!body) return
      const { records } = body._embedded
      if (at === undefined) {
        // Before the first record was appended there is none, which is right as long as none was acknowledged.
        at = records[0] ? places.get(records[0].paging_token)! : -1
        whole(world, path, wanted, at + 1, acknowledged)
        if (at < 0) await wait(10)
      }
      if (!inStep(world, path, records, wanted, at, -1)) return
      at -= records.length
      if (records.length < limit && at >= 0) world.faults.add(`a short page of ${path}, backwards: ${at + 1} records are left`)
      url = records.length < limit ? '' : body._links.next.href
    }
  }
}

/** Reads the newest ledger as soon as it was acknowledged: all of it. */
async function newest(world: World): Promise<void> {
  const operations = world.history.seen('/operations')
  while (!world.over && world.faults.count < 20) {
    const sequence = world.acknowledged
    const body = await page(world, `${world.base}/ledgers/${sequence}/operations?limit=200`)
    const wanted = operations.filter(({ ledger }) => ledger === sequence)
    const found = body?._embedded.records.length
    if (body && found !== Math.min(200, wanted.length))
      world.faults.add(`half a ledger: ${sequence} has ${found} operations of ${wanted.length}`)
    await wait(5)
  }
}

/** Follows the links of a record, and the page backwards. No effects of an operation is a 404 by the documentation. */
async function links(world: World, record: Record, body: Body): Promise<void> {
  const hrefs = Object.entries(record._links).filter(([name]) => name !== 'effects')
  for (const [, { href }] of hrefs.slice(0, 3)) {
    if (href === '') continue
    const { status } = await ask(world, href.replace(/\{.*\}$/, ''))
    if (status !== 200) world.faults.add(`a link leads nowhere: ${status} for ${href}`)
  }
  await page(world, body._links.prev.href)
}

async function run({ count, seed, plant, say }: Ask): Promise<Figure> {
  const network = { ledgers: count * PER_SECOND + 1, seed }
  const history = await History.of(network)
  const grown = await Grown.start({ ...network, initial: 1, everyMs: 1000 / PER_SECOND, plant })
  const faults = new Faults()
  const agent = new Agent({ keepAlive: true })
  const world = new World(grown, history, agent, faults)
  // All transactions of an account may have failed: nothing of it is listed then, and it is not found.
  const [one, other] = history.accounts.filter((account) => lists.every((list) => history.seen(`/accounts/${account}/${list}`).length > 0))
  grown.go()
  const started = performance.now()
  const walking = Promise.all([
    forwards(world, '/operations', 200),
    forwards(world, '/effects', 50),
    forwards(world, '/ledgers', 7),
    forwards(world, `/accounts/${one}/operations`, 20),
    forwards(world, `/accounts/${other}/effects`, 200),
    backwards(world, '/transactions', 200),
    backwards(world, '/effects', 100),
    newest(world),
  ]).catch((error) => faults.add(String(error)))
  while (world.acknowledged < history.last && faults.count === 0 && !grown.dead) {
    await wait(2000)
    say?.(`ledger ${world.acknowledged} of ${history.last}, ${world.pages} pages`)
  }
  // What was committed last is walked as well.
  await wait(500)
  world.over = true
  await walking
  if (grown.dead) faults.add('the service has ended')
  const commits = world.acknowledged - history.first
  const rate = `${((1000 * commits) / (performance.now() - started)).toFixed(0)} a second`
  grown.stop()
  agent.destroy()
  const counted = { commits, rate, pages: world.pages, 'slowest commit': `${grown.slowest.toFixed(0)} ms` }
  return { done: Math.ceil(commits / PER_SECOND), faults: faults.list, counted }
}

export const walkers: Stress = {
  name: 'walkers',
  unit: 'seconds of 50 commits a second under 8 walkers',
  full: 60,
  plants: Object.fromEntries(Object.keys(pagePlants).map((plant) => [plant, 4])),
  run,
}
