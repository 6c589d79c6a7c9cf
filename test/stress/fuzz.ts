/**
 * Fuzzed HTTP against a service in a process of its own: well-formed requests with anything in them, mutated bytes, pipelines, resets, slow senders,
 * streams, clients that do not read. No answer is a 5xx, every 4xx is a problem, nothing hangs for 3 seconds, memory stays bounded, and another
 * client is served meanwhile.
 */
import type { ChildProcess } from 'node:child_process'
import { Agent, get } from 'node:http'
import { connect, type Socket } from 'node:net'
import { judge, readAnswers } from './fuzz-answers.ts'
import { Grammar, type Known, type Volley } from './fuzz-grammar.ts'
import { child } from './program.ts'
import { type Ask, Faults, type Figure, type Stress, wait } from './stress.ts'

const CONNECTIONS = 48
const HANG_MS = 3000
/** How often as long is waited for a machine that stalls: a service that does not turn its loop any more answers no word either. */
const PATIENCE = 19
const GROWTH = 96 * 2 ** 20

/** What the serving process says about itself. */
export interface Serving {
  readonly port: number
  readonly known: Known
}

/** Asks the process for its memory after a collection. */
export const memoryOf = (server: ChildProcess): Promise<number> =>
  new Promise((resolve, reject) => {
    const gone = (): void => reject(new Error('the server has ended'))
    const look = (said: unknown): void => {
      if (typeof said !== 'number') return
      server.off('exit', gone).off('message', look)
      resolve(said)
    }
    server.once('exit', gone).on('message', look)
    server.send('memory')
  })

/** How late this process is, or the service with a word of its own: a machine that stalls or is busy is not a fault of the service. */
class Lag {
  /** Volleys that came to their end. While others are sent and too few of these come, nothing in particular hangs. */
  ended = 0
  goesOn = true
  private late = 0
  private readonly timer: NodeJS.Timeout

  constructor(server: ChildProcess) {
    let last = performance.now()
    let asked: number | undefined
    this.timer = setInterval(() => {
      const now = performance.now()
      this.late = Math.max(now - last - 50, now - (asked ?? now), this.late * 0.98)
      last = now
      if (asked !== undefined || !server.connected) return
      asked = now
      server.send('word')
    }, 50)
    server.on('message', (said) => {
      if (said === 'word') asked = undefined
    })
  }

  get stands(): boolean {
    return this.late > 400
  }

  stop(): void {
    clearInterval(this.timer)
  }
}

interface Outcome {
  readonly got: Buffer
  /** The other side closed, or what was waited for has come. */
  readonly ended: boolean
}

/** Sends a volley over a connection of its own and waits for the end, or for as much as its kind asks for. */
function exchange(port: number, { kind, bytes }: Volley, from: number, lag: Lag): Promise<Outcome> {
  return new Promise((resolve) => {
    const socket: Socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${from}`, allowHalfOpen: true })
    const parts: Buffer[] = []
    const before = lag.ended
    const isSlow = (): boolean => lag.stands || (lag.goesOn && lag.ended < before + 2 * CONNECTIONS)
    const late = (patience = PATIENCE): void => {
      if (isSlow() && patience > 0) timer = setTimeout(late, HANG_MS, patience - 1)
      else done(false)
    }
    let timer = setTimeout(late, HANG_MS)
    const done = (ended: boolean): void => {
      clearTimeout(timer)
      if (ended) lag.ended++
      socket.removeAllListeners().on('error', () => {})
      if (kind === 'reset') socket.resetAndDestroy()
      else socket.destroy()
      resolve({ got: Buffer.concat(parts), ended })
    }
    socket
      .on('error', () => done(true))
      .on('close', () => done(true))
      .on('end', () => done(true))
    socket.on('data', (part) => {
      parts.push(part)
      if (kind === 'stream' && Buffer.concat(parts).includes('\n\n')) done(true)
      if (kind === 'stream' && Buffer.concat(parts).includes('\r\n\r\n{')) done(true)
    })
    socket.on('connect', async () => {
      if (kind === 'slow') {
        for (let at = 0; at < bytes.length && !socket.destroyed; at += 1 + Math.floor(bytes.length / 12)) {
          socket.write(bytes.subarray(at, at + 1 + Math.floor(bytes.length / 12)))
          await wait(60)
        }
        clearTimeout(timer)
        timer = setTimeout(late, HANG_MS)
      } else if (kind === 'unread') {
        socket.pause()
        socket.write(bytes)
        setTimeout(() => done(true), 100)
      } else if (kind === 'reset') socket.write(bytes, () => setImmediate(() => done(true)))
      else if (kind === 'mutated' || kind === 'garbage') socket.end(bytes)
      else socket.write(bytes)
    })
  })
}

/** What is wrong with the outcome of a volley. */
function faultOf({ kind, bytes, methods }: Volley, { got, ended }: Outcome): string | undefined {
  if (kind === 'reset' || kind === 'unread') return undefined
  if (!ended)
    return `hangs: ${kind} ${JSON.stringify(bytes.toString('latin1').slice(-500))}, got ${JSON.stringify(got.toString('latin1').slice(-300))}`
  const { answers, rest, fault } = readAnswers(got, methods)
  const about = (what: string): string => `${what} to ${kind} ${JSON.stringify(bytes.toString('latin1').slice(0, 600))}`
  if (fault !== undefined) return about(fault)
  for (const [i, answer] of answers.entries()) {
    const wrong = judge(answer, methods[i])
    if (wrong !== undefined) return about(wrong)
  }
  const exact = kind === 'well-formed' || kind === 'slow'
  if (exact && (answers.length !== methods.length || rest.length > 0))
    return about(
      `${answers.length} answers of ${methods.length}, ${rest.length} bytes over, statuses ${answers.map(({ status }) => status).join()}`,
    )
  if (kind === 'stream' && answers.length !== 1) return about('no answer')
  return undefined
}

/** Another client, which asks for what is valid, and counts. */
class Witness {
  served = 0
  slowest = 0
  readonly faults = new Faults()
  private over = false
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly end: Promise<void>

  constructor(port: number) {
    this.end = this.ask(port)
  }

  private async ask(port: number): Promise<void> {
    while (!this.over) {
      const started = performance.now()
      const status = await new Promise<number | undefined>((resolve) => {
        const request = get({ port, host: '127.0.0.1', path: '/transactions?order=desc&limit=20', agent: this.agent }, (response) => {
          response.resume().once('close', () => resolve(response.statusCode))
        })
        request.once('error', () => resolve(undefined)).setTimeout((1 + PATIENCE) * HANG_MS, () => request.destroy())
      })
      const ms = performance.now() - started
      if (status !== 200) this.faults.add(`another client was answered ${status} after ${ms.toFixed(0)} ms`)
      this.served++
      this.slowest = Math.max(this.slowest, ms)
      await wait(20)
    }
  }

  async stop(): Promise<void> {
    this.over = true
    await this.end
    this.agent.destroy()
  }
}

async function run({ count, seed, plant, say }: Ask): Promise<Figure> {
  const server = await child(['serve'], { plant }, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const { port, known } = await new Promise<Serving>((resolve) => server.once('message', (said) => resolve(said as Serving)))
  const faults = new Faults()
  const lag = new Lag(server)
  const witness = new Witness(port)
  const kinds: Record<string, number> = {}
  let sent = 0
  let peak = 0
  let base: number | undefined
  const looked = async (): Promise<number> => {
    const bytes = await memoryOf(server)
    peak = Math.max(peak, bytes)
    return bytes
  }
  const grammar = new Grammar(`fuzz ${seed}`, known)
  const client = async (from: number): Promise<void> => {
    while (sent < count && server.exitCode === null && !(plant !== undefined && faults.count > 0)) {
      const volley = grammar.volley()
      sent += Math.max(1, volley.methods.length)
      kinds[volley.kind] = (kinds[volley.kind] ?? 0) + 1
      const fault = faultOf(volley, await exchange(port, volley, from, lag))
      if (fault !== undefined) faults.add(fault)
    }
    lag.goesOn = false
  }
  const clients = Array.from({ length: CONNECTIONS }, (_, i) => client(2 + i))
  let over = false
  const watch = (async () => {
    // First, caches fill and code is compiled.
    while (!over && sent < Math.min(count / 5, 20_000)) await wait(50)
    base = await looked()
    for (let ticks = 1; !over; ticks++) {
      await wait(1000)
      await looked()
      if (ticks % 20 === 0) say?.(`${sent} requests, ${faults.count} faults, ${Math.round((peak - base) / 2 ** 20)} MB more at most`)
    }
  })()
  await Promise.all(clients)
  over = true
  await watch
  await witness.stop()
  lag.stop()
  if (server.exitCode !== null) faults.add(`the server has ended with ${server.exitCode}`)
  await looked()
  const growth = peak - base!
  if (growth > GROWTH) faults.add(`memory grew by ${Math.round(growth / 2 ** 20)} MB`)
  faults.add(...witness.faults.list)
  server.kill()
  const others = `${witness.served} in at most ${witness.slowest.toFixed(0)} ms`
  const counted = {
    'memory growth': `${(growth / 2 ** 20).toFixed(1)} MB`,
    'another client': others,
    connections: Object.values(kinds).reduce((a, b) => a + b),
  }
  return { done: sent, faults: faults.list, counted: { ...counted, ...kinds } }
}

export const fuzz: Stress = {
  name: 'fuzz',
  unit: 'fuzzed HTTP requests',
  full: 1_000_000,
  plants: {
    'a defect behind one kind of value': 20_000,
    'what the parser refuses has no body': 2000,
    'one request in a thousand is not answered': 20_000,
    'something of every request is kept': 50_000,
  },
  run,
}
