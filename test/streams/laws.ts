/**
 * What every stream must have shown, whatever the interleaving: the records after its cursor, in order, once.
 * A head stands for a whole history: `listOf(head)` gives the records of the watched listing, in order, as of the newest ledger `head`.
 */

/** A record as it was shown: enough to tell it from every other, including one in the same place on another branch. */
export interface Shown {
  readonly token: string
  readonly ledger: number
  readonly text: string
}

/** How a stream ended: it did not; its reader stopped it; the ledger was closed; an error. */
export type End = 'waiting' | 'stopped' | 'closed' | { readonly code: string; readonly fields: Readonly<Record<string, unknown>> }

/** What one subscriber saw. Times are counts of the heads known by then. */
export interface Watched {
  readonly name: string
  /** The token that it started after; empty for the earliest record. */
  readonly after: string
  /** The ledger of the cursor: nothing up to here may be replaced under it. */
  readonly passed: number
  /** For offers, only the newest states can be seen, and only those not seen before. */
  readonly book: boolean
  /** The head when it began. */
  readonly startHead: string
  readonly startedAt: number
  readonly seen: readonly Shown[]
  readonly end: End
  /** When the last pull began, and when it was answered. */
  readonly pulledAt: number
  readonly endedAt: number
}

export interface Telling {
  /** The heads that history had, in order. */
  readonly heads: readonly string[]
  /** The ledgers to which it was rolled back, at any time. */
  readonly rollbacks: readonly number[]
  readonly listOf: (watched: Watched, head: string) => readonly Shown[]
  /** The hash of a ledger under a head. */
  readonly hashAt: (head: string, ledger: number) => string | undefined
}

const position = (token: string): [bigint, bigint] => {
  const [id, index] = token.split('-')
  return [BigInt(id!), index === undefined ? -1n : BigInt(index)]
}

/** True if `a` comes after `b`; a token without an index stands for its whole id. */
function isAfter(a: string, b: string): boolean {
  if (b === '') return true
  const [[idA, indexA], [idB, indexB]] = [position(a), position(b)]
  return idA !== idB ? idA > idB : indexB >= 0n && indexA > indexB
}

const texts = (shown: readonly Shown[]): string => shown.map(({ text }) => text).join('\n')
const isPrefix = (a: readonly Shown[], b: readonly Shown[]): boolean => a.every(({ text }, at) => text === b[at]?.text)

/** What is wrong with what a subscriber saw; empty if all is well. */
export function streamFaults(watched: Watched, { heads, rollbacks, listOf, hashAt }: Telling): string[] {
  const { name, after, passed, book, seen, end, startHead, startedAt, pulledAt, endedAt } = watched
  const faults: string[] = []
  const wrong = (what: string): void => void faults.push(`${name}: ${what}`)
  const expected = (head: string): Shown[] => listOf(watched, head).filter(({ token }) => isAfter(token, after))
  for (const [at, { token }] of seen.entries())
    if (!isAfter(token, seen[at - 1]?.token ?? after)) wrong(`${token} came after ${seen[at - 1]?.token ?? after}`)

  const lived = [startHead, ...heads.slice(Math.max(0, startedAt - 1))]
  const last = heads.at(-1)!
  if (book) {
    const known = new Set(lived.flatMap((head) => expected(head).map(({ text }) => text)))
    for (const { text } of seen) if (!known.has(text)) wrong(`no history had ${text}`)
  } else if (!lived.some((head) => isPrefix(seen, expected(head)))) wrong(`no history had, in this order,\n${texts(seen)}`)

  if (end === 'waiting') {
    const left = book
      ? // An offer that a rollback brings back below what was seen is not new.
        expected(last).filter(({ token }) => isAfter(token, seen.at(-1)?.token ?? after))
      : expected(last).slice(seen.length)
    if (left.length > 0) wrong(`it waits, and never saw\n${texts(left)}`)
    if (!book && !isPrefix(seen, expected(last))) wrong(`it waits, and saw what was taken back:\n${texts(seen)}`)
    if (hashAt(startHead, passed) !== hashAt(last, passed)) wrong(`it waits behind a cursor in ledger ${passed}, which was taken back`)
  } else if (typeof end === 'object') {
    if (end.code !== 'ROLLED_BACK') {
      wrong(`it ended with ${end.code}`)
      return faults
    }
    const to = end.fields['last'] as number
    if (!rollbacks.includes(to)) wrong(`it names ${to}, and no rollback went there`)
    if (Math.max(passed, ...seen.map(({ ledger }) => ledger)) <= to) wrong(`it ended by a rollback to ${to}, which it had not passed`)
    const kept = (shown: readonly Shown[]): string => texts(shown.filter(({ ledger }) => ledger <= to))
    // The rollback may be reported before it is known to be over.
    const then = heads.slice(Math.max(0, pulledAt - 1), endedAt + 1)
    if (!book && !then.some((head) => kept(expected(head)) === kept(seen))) wrong(`up to ${to}, which it names, it saw\n${kept(seen)}`)
  }
  return faults
}
