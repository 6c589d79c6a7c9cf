/** LevelDB's MANIFEST: the edits that lead to the tables and logs in use. */
import { Cursor } from './reading.ts'

export interface LiveTable {
  readonly number: number
  readonly size: number
  /** Internal keys: the key, then eight bytes of sequence number and kind. */
  readonly smallest: Uint8Array
  readonly largest: Uint8Array
}

/** What is in use according to the edits so far. */
export class LiveFiles {
  readonly tables = new Map<number, LiveTable>()
  log = 0
  previousLog = 0
  sequence = 0
  private readonly seen = new Set<number>()

  /** LevelDB opens nothing without the numbers of a log, of the next file, and of the last sequence: the first two edits have them. */
  get isWhole(): boolean {
    return [2, 3, 4].every((tag) => this.seen.has(tag))
  }

  /** Applies an edit. @returns what is wrong with it, if anything */
  apply(edit: Uint8Array): string | undefined {
    const input = new Cursor(edit)
    while (!input.done) {
      const tag = input.varint()
      const problem = this.applyPart(input, tag)
      if (problem) return problem
      this.seen.add(tag)
    }
    return undefined
  }

  private applyPart(input: Cursor, tag: number): string | undefined {
    const number = (): number => input.varint()
    switch (tag) {
      case 1:
        return input.slice() ? undefined : 'an edit is cut off'
      case 2:
        this.log = number()
        return Number.isNaN(this.log) ? 'an edit is cut off' : undefined
      case 3:
        // The number of the next file.
        number()
        return undefined
      case 4:
        this.sequence = number()
        return undefined
      case 5:
        number()
        return input.slice() ? undefined : 'an edit is cut off'
      case 6:
        number()
        return this.tables.delete(number()) ? undefined : 'an edit removes a table that is not there'
      case 7: {
        number()
        const [id, size, smallest, largest] = [number(), number(), input.slice(), input.slice()]
        if (Number.isNaN(size) || !smallest || !largest) return 'an edit is cut off'
        // Copied: a view would keep the window of the file that it was read from alive, a megabyte for a few bytes.
        this.tables.set(id, { number: id, size, smallest: smallest.slice(), largest: largest.slice() })
        return undefined
      }
      case 9:
        this.previousLog = number()
        return undefined
      default:
        return 'an edit has a part that LevelDB does not know'
    }
  }
}
