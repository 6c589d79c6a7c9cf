/** What is read although something may be damaged. */
import { isDamage } from '../layout/seal.ts'

/**
 * Damage that is met and passed by. **Invariant:** damage is CORRUPT and nothing else: a read that failed for another reason says nothing of what is
 * stored, and whoever went on would take what is there for lost.
 */
export class Damage {
  /** The first of it. */
  found: unknown

  /** What a read of stored values gives; undefined if they are damaged. @throws whatever else the read throws */
  async around<T>(read: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await read()
    } catch (error) {
      if (!isDamage(error)) throw error
      this.found ??= error
      return undefined
    }
  }
}
