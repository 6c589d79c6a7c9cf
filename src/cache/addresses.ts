/**
 * Where values lie, by block number: small integers in leaves of neighbours, found through a directory per log, like the page tables of an operating
 * system. A look-up is two reads and no comparison, and all that a large cache needs of it fits into a processor's second-level cache; a `Map` of
 * some hundred thousand entries costs three cache misses, and a hash table as many branch mispredictions as it has collisions.
 */
export const NOWHERE = -1

/** Tags of logs are below this. */
export const TAGS = 64
/** The id of a block in memory. These are small integers as long as there are fewer than 2^24 blocks: maps find those fastest. */
export const blockId = (log: number, number: number): number => number * TAGS + log
export const numberOf = (id: number): number => Math.floor(id / TAGS)
const logOf = (id: number): number => id % TAGS

/** Neighbours per leaf, as a power of two: if only one of them is kept, its leaf takes a tenth of what the block does. */
const LEAF = 7
const INSIDE = (1 << LEAF) - 1
const LEAST_LEAVES = 16
/** How many numbers can be found: a directory of them all would take 128 MiB. */
const NUMBERS = 2 ** 32

export const canBeFound = (id: number): boolean => id < NUMBERS * TAGS

export class Addresses {
  size = 0
  /** For each log, where the leaves of its numbers begin in {@link leaves}, or {@link NOWHERE}. */
  private directories: Int32Array[] = Array.from({ length: TAGS }, () => none)
  private leaves = empty(LEAST_LEAVES << LEAF)
  /** How many addresses each leaf holds. */
  private held = new Uint8Array(LEAST_LEAVES)
  private begun = 0
  private unused: number[] = []

  /** The address set for a block of a log, or {@link NOWHERE}. */
  at(log: number, number: number): number {
    const directory = this.directories[log]!
    const place = number >>> LEAF
    if (place >= directory.length || number >= NUMBERS) return NOWHERE
    const leaf = directory[place]!
    return leaf < 0 ? NOWHERE : this.leaves[leaf + (number & INSIDE)]!
  }

  get(id: number): number {
    return this.at(logOf(id), numberOf(id))
  }

  /** @param id one that {@link canBeFound}
   * @param address any 32 bits but {@link NOWHERE} */
  set(id: number, address: number): void {
    const number = numberOf(id)
    const leaf = this.leafFor(logOf(id), number >>> LEAF)
    const at = leaf + (number & INSIDE)
    if (this.leaves[at] === NOWHERE) {
      this.size++
      this.held[leaf >>> LEAF]!++
    }
    this.leaves[at] = address
  }

  private leafFor(log: number, place: number): number {
    let directory = this.directories[log]!
    if (place >= directory.length) directory = this.directories[log] = grown(directory, Math.max(place + 1, 2 * directory.length))
    if (directory[place] === NOWHERE) directory[place] = this.unused.pop() ?? this.another()
    return directory[place]!
  }

  /** A leaf that was never used. */
  private another(): number {
    const leaf = this.begun++ << LEAF
    if (leaf === this.leaves.length) {
      this.leaves = grown(this.leaves, 2 * leaf)
      const held = new Uint8Array(2 * this.held.length)
      held.set(this.held)
      this.held = held
    }
    return leaf
  }

  delete(id: number): void {
    if (this.get(id) === NOWHERE) return
    const number = numberOf(id)
    const directory = this.directories[logOf(id)]!
    const leaf = directory[number >>> LEAF]!
    this.leaves[leaf + (number & INSIDE)] = NOWHERE
    this.size--
    if (--this.held[leaf >>> LEAF]! > 0) return
    directory[number >>> LEAF] = NOWHERE
    this.unused.push(leaf)
  }

  clear(): void {
    this.size = 0
    this.directories.fill(none)
    this.leaves = empty(LEAST_LEAVES << LEAF)
    this.held = new Uint8Array(LEAST_LEAVES)
    this.begun = 0
    this.unused = []
  }
}

const empty = (length: number): Int32Array => new Int32Array(length).fill(NOWHERE)
const none = empty(0)

function grown(list: Int32Array, length: number): Int32Array {
  const longer = empty(length)
  longer.set(list)
  return longer
}
