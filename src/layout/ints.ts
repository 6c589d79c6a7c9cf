/** Lists of integers for work that is done over and over. */

/** A growing list of 32-bit integers that is emptied and filled again: an array would give up its memory each time. */
export class Ints {
  items: Int32Array
  length = 0
  private readonly least: number

  constructor(least = 256) {
    this.items = new Int32Array(least)
    this.least = least
  }

  /** Adds a number, and returns its place. */
  push(value: number): number {
    if (this.length === this.items.length) {
      const grown = new Int32Array(2 * this.length)
      grown.set(this.items)
      this.items = grown
    }
    this.items[this.length] = value
    return this.length++
  }

  /** Empties the list; what it grew by far is given back. */
  clear(): void {
    this.length = 0
    if (this.items.length > 64 * this.least) this.items = new Int32Array(this.least)
  }
}
