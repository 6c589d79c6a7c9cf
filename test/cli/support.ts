/** Runs a command line in this process, and captures its streams. */
import { PassThrough, Readable, Writable } from 'node:stream'
import { run } from '../../adapters/cli/run.ts'
import { generateLines } from '../../adapters/generate/index.ts'
import { level } from '../../adapters/level/index.ts'

export interface Answer {
  readonly code: number
  readonly out: string
  readonly err: string
}

interface Given {
  readonly stdin?: Readable | Uint8Array | string
  readonly env?: Record<string, string>
  /** Used instead of those that are captured. */
  readonly stdout?: Writable
  readonly stderr?: Writable
}

/** A command that is running. */
export interface Running {
  readonly stdin: Readable
  readonly stop: (signal?: string) => void
  readonly done: Promise<Answer>
  /** What it wrote to a stream so far, once that matches. */
  readonly until: (stream: 'out' | 'err', pattern: RegExp) => Promise<RegExpExecArray>
}

export function start(argv: readonly string[], { stdin = '', env = {}, stdout, stderr }: Given = {}): Running {
  const stop = new AbortController()
  const caught = { out: '', err: '' }
  const bell = new EventTarget()
  const sink = (name: 'out' | 'err'): PassThrough => {
    const stream = new PassThrough()
    stream.setEncoding('utf8').on('data', (text) => {
      caught[name] += text
      bell.dispatchEvent(new Event('data'))
    })
    return stream
  }
  const input = stdin instanceof Readable ? stdin : Readable.from([Buffer.from(stdin)])
  const io = { stdin: input, stdout: stdout ?? sink('out'), stderr: stderr ?? sink('err'), env, signal: stop.signal }
  const done = run(argv, io).then((code) => ({ code, ...caught }))
  const until = (name: 'out' | 'err', pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = pattern.exec(caught[name])
        if (found) resolve(found)
      }
      bell.addEventListener('data', look)
      look()
      done.then((answer) => reject(new Error(`it ended before ${pattern}: ${JSON.stringify(answer)}`)), reject)
    })
  return { stdin: input, stop: (signal = 'SIGTERM') => stop.abort(signal), done, until }
}

export const folio = (argv: readonly string[], given?: Given): Promise<Answer> => start(argv, given).done

/** Behaves like a pipe whose reader went away after so many writes, or a disk that is full. */
export function failing(code: string, writes = 0): Writable {
  let left = writes
  const stream = new Writable({
    write: (_chunk, _encoding, done) => done(left-- > 0 ? null : Object.assign(new Error(`write ${code}`), { code, syscall: 'write' })),
  })
  return stream.on('error', () => {})
}

/** Behaves like a pipe that nobody drains: the first write is never taken. `onWrite` is told of it. */
export const stuck = (onWrite: () => void = () => {}): Writable => new Writable({ highWaterMark: 1, write: () => onWrite() })

export { directory } from '../support/directory.ts'

/** The lines of a small network, without their ends. */
export const lines = (ledgers: number, seed = 'cli'): string[] => [
  ...generateLines({ ledgers, seed, accounts: 32, transactionsPerLedger: 4, firstLedger: 2_100_000 }),
]

export const ndjson = (closes: readonly string[]): string => closes.map((line) => `${line}\n`).join('')

/** Writes one value beneath the engine. */
export async function damage(data: string, key: string, value: Uint8Array | undefined): Promise<void> {
  const store = await level(data)
  await store.write([[Buffer.from(key, 'hex'), value]], { durable: true })
  await store.close()
}
