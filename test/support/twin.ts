/** Ledgers that others are compared with, many times: they do not change, so each question is asked once. */
import type { Ledger } from '../../src/index.ts'

const answers = new WeakMap<Ledger, Map<string, Promise<unknown>>>()

/** @param question names what is asked, within the ledger */
export function askedOnce<T>(twin: Ledger, question: string, ask: () => Promise<T>): Promise<T> {
  const known = answers.get(twin) ?? new Map<string, Promise<unknown>>()
  answers.set(twin, known)
  const told = (known.get(question) as Promise<T> | undefined) ?? ask()
  known.set(question, told)
  return told
}
