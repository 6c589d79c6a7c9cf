/** What the laws hand to a store, which must leave it as it is. */
import { equal } from '../../src/bytes.ts'
import type { KeyRange } from '../../src/store.ts'
import type { Form } from './store-forms.ts'
import { show } from './store-show.ts'

/** What a call was given, to see that it is still that once the call has resolved. */
export class Handed {
  /** What was given, and at the same place what it was made of. */
  private readonly given: Uint8Array[] = []
  private readonly as: Uint8Array[] = []
  private readonly lists: (readonly [given: readonly unknown[], as: readonly unknown[]])[] = []
  private readonly form: Form

  constructor(form: Form) {
    this.form = form
  }

  /** Whatever is not bytes stays as it is. */
  one<T extends Uint8Array | undefined>(bytes: T): T {
    if (!(bytes instanceof Uint8Array)) return bytes
    const given = this.form(bytes)
    if (given !== bytes) {
      this.given.push(given)
      this.as.push(bytes)
    }
    return given as T
  }

  list<T>(given: readonly T[]): readonly T[] {
    this.lists.push([given, [...given]])
    return given
  }

  /** Bounds that are missing stay missing. */
  range(range: KeyRange): KeyRange {
    return range.gte && range.lt ? { gte: this.one(range.gte), lt: this.one(range.lt) } : range
  }

  check(call: () => string): void {
    for (let n = 0; n < this.given.length; n++) {
      const [given, as] = [this.given[n]!, this.as[n]!]
      if (!equal(given, as))
        throw new Error(`${call()}: expected a store that leaves what it is given as it was, ${show(as)}; it is ${show(given)} now`)
    }
    for (const [given, as] of this.lists)
      if (given.length !== as.length || given.some((item, n) => item !== as[n]))
        throw new Error(`${call()}: expected a store that leaves the array that it is given as it was`)
  }
}
