/** Many runs as one: of each key the newest version, and no key that was deleted. */
import { compare } from '../../src/bytes.ts'
import { inOrder, type Run, type Version } from './runs.ts'

/** A run that is being read, at its next version. */
interface Reading {
  readonly rest: AsyncIterator<readonly Version[]>
  versions: readonly Version[]
  at: number
}

const nextOf = ({ versions, at }: Reading): Version => versions[at]!

/**
 * The newest versions in the order of their keys, about so many bytes at a time. A run is opened when the merge arrives at its smallest key, so that
 * only runs that overlap are open together: in LevelDB, those of the newest level and one of each other.
 */
export async function* newest(runs: readonly Run[], bytes: number): AsyncGenerator<readonly Version[], void, undefined> {
  const waiting = [...runs].sort((a, b) => compare(b.smallest, a.smallest))
  const open = new Set<Reading>()
  let found: Version[] = []
  let [size, last]: [number, Uint8Array | undefined] = [0, undefined]
  try {
    for (;;) {
      let least = leastOf(open)
      const following = waiting.at(-1)
      if (following && (!least || compare(following.smallest, nextOf(least).key) <= 0)) {
        waiting.pop()
        least = { rest: following.read()[Symbol.asyncIterator](), versions: [], at: -1 }
        open.add(least)
      } else if (least) {
        const version = nextOf(least)
        const isNewest = last === undefined || compare(last, version.key) !== 0
        last = version.key
        if (isNewest && version.value) {
          found.push(version)
          size += version.key.length + version.value.length
        }
        if (size >= bytes) {
          yield found
          ;[found, size] = [[], 0]
        }
      } else break
      if (!(await advance(least))) open.delete(least)
    }
    if (found.length > 0) yield found
  } finally {
    for (const { rest } of open) await rest.return?.()
  }
}

function leastOf(open: ReadonlySet<Reading>): Reading | undefined {
  let least: Reading | undefined
  for (const one of open) if (!least || inOrder(nextOf(one), nextOf(least)) < 0) least = one
  return least
}

/** Moves to the next version. @returns false at the end */
async function advance(reading: Reading): Promise<boolean> {
  if (++reading.at < reading.versions.length) return true
  for (;;) {
    const { done, value } = await reading.rest.next()
    if (done) return false
    if (value.length === 0) continue
    reading.versions = value
    reading.at = 0
    return true
  }
}
