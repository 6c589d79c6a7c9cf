import { MemoryLevel } from 'memory-level'

/** A database whose batches can be made to fail. */
export class FailingLevel extends MemoryLevel<any, any> {
  failure: Error | undefined
  batches = 0
  /** Where batches of every kind end up, whichever way they were passed in. */
  _batch(...given: any[]): Promise<void> {
    this.batches++
    return this.failure ? Promise.reject(this.failure) : (MemoryLevel.prototype as any)._batch.apply(this, given)
  }
}
