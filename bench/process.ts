/**
 * Calls functions in another process, one at a time: `Remote` is the calling end, `answerCalls` the answering one.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'

type Functions = { readonly [name: string]: (...values: any[]) => unknown }
type Call = { readonly name: string; readonly values: readonly unknown[] }
type Answer = { readonly value?: unknown; readonly error?: string }

export class Remote<F extends Functions> {
  private readonly child: ChildProcess
  private ended: Error | undefined
  private waiting: { done: (value: any) => void; failed: (error: Error) => void } | undefined

  /** Starts a built script that lies beside this one. */
  constructor(script: string, values: readonly string[]) {
    this.child = fork(join(import.meta.dirname, script), values, { serialization: 'advanced', execArgv: [] })
    this.child.on('message', ({ value, error }: Answer) => {
      const { waiting } = this
      this.waiting = undefined
      if (error !== undefined) waiting?.failed(new Error(error))
      else waiting?.done(value)
    })
    this.child.on('exit', (code) => {
      this.ended = new Error(`${script} ${values.join(' ')} ended with ${code}`)
      this.waiting?.failed(this.ended)
    })
  }

  call<N extends keyof F & string>(name: N, ...values: Parameters<F[N]>): Promise<Awaited<ReturnType<F[N]>>> {
    return new Promise((done, failed) => {
      if (this.ended) return failed(this.ended)
      this.waiting = { done, failed }
      this.child.send({ name, values } satisfies Call, () => {})
    })
  }

  /** Lets the process exit by itself, and waits until it has. */
  async end(): Promise<void> {
    const ended = new Promise((done) => this.child.once('exit', done))
    this.child.disconnect()
    await ended
  }
}

export function answerCalls(functions: Functions, end: () => unknown): void {
  process.on('message', async ({ name, values }: Call) => {
    let answer: Answer
    try {
      answer = { value: await functions[name]!(...values) }
    } catch (error) {
      answer = { error: (error as Error).stack ?? String(error) }
    }
    process.send!(answer)
  })
  const leave = async (): Promise<void> => {
    await end()
    process.exit()
  }
  // The caller may be gone already: what was opened for it can have taken a while.
  if (process.connected) process.on('disconnect', leave)
  else leave()
}
