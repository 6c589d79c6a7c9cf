/**
 * Files of a LevelDB store damaged in every way, one at a time: what is then opened and read is right, or a typed error; never wrong, never short,
 * and it never hangs. What `checkFiles` says about the same damage is counted.
 */
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generate } from '../../adapters/generate/index.ts'
import type { Random } from '../../adapters/generate/random.ts'
import { checkFiles, level } from '../../adapters/level/index.ts'
import { hasCode } from '../../src/errors.ts'
import { catalogue, FolioError, type Ledger, openLedger, type Store } from '../../src/index.ts'
import { type Ask, Faults, type Figure, random, type Stress } from './stress.ts'

/** A store as it was left, what it answers, and what it was some time before. */
interface Template {
  readonly directory: string
  readonly earlier: string
  readonly answers: ReadonlyMap<string, string>
}

const QUERIES = 12

/** Everything that a store answers, question by question; a typed error in place of what cannot be answered. */
async function ask(ledger: Ledger, accounts: readonly string[], hashes: readonly string[]): Promise<Map<string, string>> {
  const answers = new Map<string, string>()
  const tell = async (name: string, read: () => Promise<unknown>): Promise<void> => {
    try {
      answers.set(
        name,
        JSON.stringify(await read(), (_, value) => (typeof value === 'bigint' ? `${value}n` : value)),
      )
    } catch (error) {
      if (!(error instanceof FolioError)) throw error
      answers.set(name, `error ${error.code}`)
    }
  }
  const all = async (records: AsyncIterable<unknown>): Promise<unknown[]> => {
    const found: unknown[] = []
    for await (const record of records) found.push(record)
    return found
  }
  await tell('head', async () => ledger.head)
  await tell('lines', () => all(ledger.lines()))
  await tell('digest', () => ledger.digest())
  for (const account of accounts)
    for (const query of [catalogue.operationsOfAccount, catalogue.effectsOfAccount, catalogue.tradesOfAccount, catalogue.offersOfAccount])
      await tell(`${query.path} ${account}`, () => all(ledger.records(query as typeof catalogue.operationsOfAccount, { account })))
  await tell('payments', () => all(ledger.records(catalogue.payments, {}, { order: 'desc' })))
  for (const hash of hashes) await tell(hash, () => ledger.get(catalogue.transaction, { hash }))
  return answers
}

const options = { writeBufferBytes: 1 << 16 }

/** Files of a database that is open come and go. */
function copyLive(from: string, to: string): void {
  mkdirSync(to)
  for (const name of readdirSync(from)) {
    try {
      copyFileSync(join(from, name), join(to, name))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
}

async function templateOf(seed: number, sessions: number): Promise<{ template: Template; questions: readonly [string[], string[]] }> {
  const home = mkdtempSync(join(tmpdir(), 'folio-damage-'))
  const [directory, earlier] = [join(home, 'data'), join(home, 'earlier')]
  const closes = [...generate({ ledgers: 12 * sessions, seed, accounts: 16, transactionsPerLedger: 5 })]
  for (let session = 0; session < sessions; session++) {
    const ledger = await openLedger(level(directory, options), { fileEvery: 200 })
    const part = closes.slice(12 * session, 12 * (session + 1))
    await ledger.ingest(part.slice(0, 6))
    if (session === sessions - 1) copyLive(directory, earlier)
    await ledger.ingest(part.slice(6))
    await ledger.close()
  }
  const spread = <T>(list: readonly T[]): T[] => list.filter((_, at) => at % Math.ceil(list.length / QUERIES) === 0)
  const transactions = closes.flatMap((close) => close.transactions ?? [])
  const questions = [
    spread([...new Set(transactions.map(({ account }) => account))]),
    spread(transactions.map(({ hash }) => hash)),
  ] as const
  const copy = join(home, 'copy')
  cpSync(directory, copy, { recursive: true })
  const ledger = await openLedger(level(copy, options))
  const answers = await ask(ledger, questions[0], questions[1])
  await ledger.close()
  return { template: { directory, earlier, answers }, questions: [questions[0], questions[1]] }
}

const classes: Readonly<Record<string, RegExp>> = {
  table: /\.ldb$/,
  log: /^\d+\.log$/,
  MANIFEST: /^MANIFEST/,
  CURRENT: /^CURRENT$/,
  other: /^(HIGH-WATER|LOG|LOG\.old|LOCK)$/,
}

type Damage = (random: Random, path: string, directory: string, earlier: string) => string | undefined

const rewritten = (path: string, change: (bytes: Buffer) => void): void => {
  const bytes = readFileSync(path)
  change(bytes)
  writeFileSync(path, bytes)
}

/** Each says what it did; nothing if it does not apply. */
const damages: Readonly<Record<string, Damage>> = {
  flip(random, path) {
    let place = -1
    rewritten(path, (bytes) => {
      if (bytes.length === 0) return
      place = random.below(bytes.length)
      bytes[place]! ^= 1 << random.below(8)
    })
    return place < 0 ? undefined : `at ${place}`
  },
  zero(random, path) {
    let said: string | undefined
    rewritten(path, (bytes) => {
      if (bytes.length === 0) return
      const from = random.below(bytes.length)
      const to = Math.min(bytes.length, from + 1 + random.below(random.pick([16, 512, 8192])))
      bytes.fill(0, from, to)
      said = `${from} to ${to}`
    })
    return said
  },
  truncate(random, path) {
    const { length } = readFileSync(path)
    if (length === 0) return undefined
    const to = random.below(length)
    truncateSync(path, to)
    return `${length} to ${to}`
  },
  delete(_, path) {
    rmSync(path)
    return ''
  },
  swap(random, path, directory) {
    const others = readdirSync(directory).filter((name) => name !== path.split('/').at(-1) && name !== 'LOCK')
    const other = join(directory, random.pick(others))
    const [one, two] = [readFileSync(path), readFileSync(other)]
    writeFileSync(path, two)
    writeFileSync(other, one)
    return `with ${other.split('/').at(-1)}`
  },
  stale(_, path, __, earlier) {
    const older = join(earlier, path.split('/').at(-1)!)
    if (!existsSync(older)) return undefined
    writeFileSync(path, readFileSync(older))
    return ''
  },
  tail(random, path) {
    const garbage = Buffer.alloc(1 + random.below(3000), 0)
    if (random.chance(0.7)) for (let at = 0; at < garbage.length; at++) garbage[at] = random.below(256)
    writeFileSync(path, Buffer.concat([readFileSync(path), garbage]))
    return `${garbage.length} bytes`
  },
}

const DEAF = 'files that are not looked at, by a store that is silent about what LevelDB says'

/** A store that returns nothing if LevelDB says that something is damaged. */
const deaf = (store: Store): Store => {
  const quiet = async <T>(read: () => T | Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await read()
    } catch (error) {
      if (hasCode(error, 'CORRUPT')) return otherwise
      throw error
    }
  }
  return Object.assign(Object.create(store) as Store, {
    capabilities: { ...store.capabilities, sync: false },
    get: (key: Uint8Array) => quiet<Uint8Array | undefined>(() => store.get(key), undefined),
    getMany: (keys: readonly Uint8Array[]) =>
      Promise.all(keys.map((key) => quiet<Uint8Array | undefined>(() => store.get(key), undefined))),
    scan: (range: never, asked: never) => quiet(() => store.scan(range, asked), { entries: [], more: false }),
  })
}

async function run({ count, seed, plant, say }: Ask): Promise<Figure> {
  const chance = random(seed)
  const faults = new Faults()
  const counted = { right: 0, typed: 0, 'named by checkFiles': 0, 'not opened': 0 }
  const templates = [await templateOf(seed, 1), await templateOf(seed + 1, 3), await templateOf(seed + 2, 6)]
  let done = 0
  try {
    while (done < count) {
      const { template, questions } = chance.pick(templates)
      const directory = join(mkdtempSync(join(tmpdir(), 'folio-damaged-')), 'data')
      cpSync(template.directory, directory, { recursive: true })
      const [kind, pattern] = chance.pick(Object.entries(classes))
      const names = readdirSync(directory).filter((name) => pattern.test(name))
      const [how, damage] = chance.pick(Object.entries(damages))
      const name = names.length > 0 ? chance.pick(names) : undefined
      const said = name && damage(chance, join(directory, name), directory, template.earlier)
      if (said !== undefined && name !== undefined) {
        const what = `case ${done}, ${how} ${kind} ${name} ${said}`
        if (plant === 'a store that notes nothing') rmSync(join(directory, 'HIGH-WATER'), { force: true })
        const outcome = await Promise.race([
          judge(directory, template, questions, plant, counted),
          new Promise<string>((resolve) => setTimeout(() => resolve('it hangs'), 20_000).unref()),
        ])
        if (outcome) faults.add(`${what}: ${outcome}`)
        done++
        if (done % 250 === 0) say?.(`${done} cases`)
      }
      rmSync(join(directory, '..'), { recursive: true, force: true })
    }
  } finally {
    for (const { template } of templates) rmSync(join(template.directory, '..'), { recursive: true, force: true })
  }
  return { done, faults: faults.list, counted }
}

/** @returns what is wrong, if anything */
async function judge(
  directory: string,
  { answers }: Template,
  [accounts, hashes]: readonly [string[], string[]],
  plant: string | undefined,
  counted: Record<string, number>,
): Promise<string | undefined> {
  const files = await checkFiles(directory)
  if (!files.ok) counted['named by checkFiles']!++
  let ledger: Ledger
  try {
    const store = await level(directory, { ...options, mustExist: true, ...(plant === DEAF && { checkFiles: false }) })
    ledger = await openLedger(plant === DEAF ? deaf(store) : store)
  } catch (error) {
    if (!(error instanceof FolioError)) return `opening threw ${error}`
    counted['not opened']!++
    return undefined
  }
  try {
    const found = await ask(ledger, accounts, hashes)
    let typed = false
    for (const [question, answer] of found) {
      if (answer === answers.get(question)) continue
      if (!/^error (CORRUPT|STORE_FAILED)$/.test(answer))
        return `${question} is answered ${answer.slice(0, 80)}, not ${answers.get(question)!.slice(0, 80)}`
      typed = true
    }
    counted[typed ? 'typed' : 'right']!++
    return undefined
  } finally {
    await ledger.close()
  }
}

export const damage: Stress = {
  name: 'damage',
  unit: 'cases',
  full: 5000,
  plants: { 'a store that notes nothing': 150, [DEAF]: 300 },
  run,
}
