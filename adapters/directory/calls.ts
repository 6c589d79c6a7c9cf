/** The calls in progress on a store: closing waits for them, and from then on every call gives CLOSED. */
import { FolioError } from '../../src/errors.ts'
import type { Store } from '../../src/store.ts'

export class Calls {
  private readonly location: string
  private readonly failureOf: (error: unknown) => FolioError | Promise<FolioError>
  private readonly underWay = new Set<Promise<unknown>>()
  private closing: Promise<void> | undefined

  /** @param failureOf what went wrong, as an error of ours */
  constructor(location: string, failureOf: Calls['failureOf']) {
    this.location = location
    this.failureOf = failureOf
  }

  /** @throws CLOSED */
  checkOpen(): void {
    if (this.closing) throw this.closed()
  }

  /** Work that closing waits for, with its errors turned into ours. */
  run<T>(work: () => Promise<T>): Promise<T> {
    if (this.closing) return Promise.reject(this.closed())
    const done = this.named(work())
    const forget = () => this.underWay.delete(done)
    this.underWay.add(done)
    done.then(forget, forget)
    return done
  }

  /** A note whose calls are among these. */
  note(note: NonNullable<Store['note']>): NonNullable<Store['note']> {
    return {
      read: () => this.run(async () => note.read()),
      write: (bytes, options) => this.run(async () => note.write(bytes, options)),
    }
  }

  /** Ends the store, once nothing is in progress. */
  close(end: () => Promise<void>): Promise<void> {
    this.closing ??= this.named(Promise.allSettled(this.underWay).then(end))
    return this.closing
  }

  private named<T>(done: Promise<T>): Promise<T> {
    return done.catch(async (error) => {
      throw await this.failureOf(error)
    })
  }

  private closed(): FolioError {
    return new FolioError('CLOSED', { location: this.location })
  }
}
