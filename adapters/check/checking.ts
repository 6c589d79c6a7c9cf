/**
 * What is checked of one listing, or of a service as a whole: law after law, each with its outcome. A law whose share of the requests was used up can be
 * checked again, with what others left over.
 */
import type { Unchecked } from './algebra.ts'
import { answerLaws } from './answers.ts'
import { UNRELATED } from './belongs.ts'
import { type Answer, type Client, Exhausted, Spent, Unreachable } from './client.ts'
import { NoStream } from './streams.ts'
import { Fault } from './window.ts'

export interface LawResult {
  readonly law: string
  readonly outcome: 'holds' | 'broken' | 'unchecked'
  /** What was expected and what came, or why it was not checked. */
  readonly detail?: string
}

type Check = () => Promise<Unchecked>

interface Row {
  readonly law: string
  readonly check: Check
  result: Omit<LawResult, 'law'> | undefined
  spent: boolean
}

/** What an error says about a law: that it is broken, or that bounds were reached. */
export function whyNot(error: unknown): Omit<LawResult, 'law'> {
  if (error instanceof Exhausted) return { outcome: 'unchecked', detail: error.message }
  if (error instanceof Fault || error instanceof Unreachable) return { outcome: 'broken', detail: error.message }
  throw error
}

export class Checking {
  requests = 0
  /** Why laws of streams say nothing of it, once that is known. */
  noStream: string | undefined
  private readonly client: Client
  private readonly isOurs: boolean
  /** Why laws are not checked, by their names. */
  private readonly declined: ReadonlyMap<string, string>
  /** How often a law is checked before it is said to be broken. */
  private readonly tries: number
  private rows: Row[] = []
  /** By laws of single answers: whether any concerned them, and what was wrong with the first that was. */
  private readonly judged = new Map<string, string | undefined>()

  /** @param changes it lists what is there now, which may change between two requests */
  constructor(client: Client, isOurs: boolean, changes = false, declined: ReadonlyMap<string, string> = new Map()) {
    this.client = client
    this.isOurs = isOurs
    this.declined = declined
    this.tries = changes ? 3 : 1
  }

  get laws(): LawResult[] {
    const ofAnswers = [...this.judged].map(
      ([law, detail]): LawResult => (detail === undefined ? { law, outcome: 'holds' } : { law, outcome: 'broken', detail }),
    )
    return [...this.rows.flatMap(({ law, result }) => (result ? [{ law, ...result }] : [])), ...ofAnswers]
  }

  /** Whether any law may be checked with more requests. */
  get isSpent(): boolean {
    return this.rows.some(({ spent }) => spent)
  }

  async law(law: string, check: Check): Promise<void> {
    if (this.declined.has(law)) return
    const row: Row = { law, check, result: undefined, spent: false }
    this.rows.push(row)
    await this.run(row)
  }

  /** Checks what is left once more. */
  async again(): Promise<void> {
    for (const row of this.rows) if (row.spent) await this.run(row)
  }

  /** Does something, and counts its requests as those of this check. */
  async counted<T>(work: () => Promise<T>): Promise<T> {
    const { client } = this
    const before = client.requests
    client.watch = this.isOurs ? (...answered) => this.judge(...answered) : undefined
    try {
      return await work()
    } finally {
      client.watch = undefined
      this.requests += client.requests - before
    }
  }

  private async run(row: Row): Promise<void> {
    for (let tries = this.tries; ; tries--) {
      const result = await this.counted(() => this.outcome(row))
      if (result?.outcome === 'broken' && tries > 1 && !this.client.isGone) continue
      row.result = result
      return
    }
  }

  /** Undefined if the law turns out to say nothing of what is checked. */
  private async outcome(row: Row): Promise<Row['result']> {
    row.spent = false
    try {
      const unchecked = await row.check()
      if (unchecked === UNRELATED) return undefined
      return unchecked === undefined ? { outcome: 'holds' } : { outcome: 'unchecked', detail: unchecked }
    } catch (error) {
      row.spent = error instanceof Spent
      if (!(error instanceof NoStream)) return whyNot(error)
      this.noStream = error.message
      return undefined
    }
  }

  private judge(url: string, accept: string | undefined, answer: Answer): void {
    for (const { name, judge } of answerLaws) {
      if (this.judged.get(name) !== undefined || this.declined.has(name)) continue
      const found = judge(url, accept, answer)
      if (found !== false) this.judged.set(name, found === true ? undefined : `${url}: ${found}`)
    }
  }
}
