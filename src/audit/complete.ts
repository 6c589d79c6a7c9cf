/** Whether values that pass by, in the order of their keys, are all that a head counts: the blocks of every log, and a digest of every ledger. */
import type { FolioError } from '../errors.ts'
import type { Head } from '../layout/head.ts'
import { blockKey, digestKey, KIND, kindOfKey, readBlockKey, readDigestKey } from '../layout/keys.ts'
import { blockNumber, recordsInBlock } from '../layout/ordinals.ts'
import { corrupt } from '../layout/seal.ts'
import { recordsIn } from '../layout/shape.ts'
import { logs } from '../logs.ts'

export class Complete {
  private readonly head: Head
  /** By the tag of the log: the block that comes next. */
  private readonly blocks: Map<number, number>
  /** The ledger whose digest comes next. */
  private digest: number

  constructor(head: Head) {
    this.head = head
    this.blocks = new Map(logs.map((log) => [log.tag, blockNumber(log, head.since[log.tag]!)]))
    this.digest = head.oldest
  }

  /** @param value its seal was checked */
  pass(key: Uint8Array, value: Uint8Array): void {
    const kind = kindOfKey(key)
    if (kind === KIND.digest && readDigestKey(key) === this.digest) this.digest++
    const block = kind === KIND.block ? readBlockKey(key) : undefined
    if (!block || this.blocks.get(block.log) !== block.number) return
    const log = logs.find(({ tag }) => tag === block.log)!
    // One that lacks records is as it was some ledgers ago.
    if (recordsIn(value) >= recordsInBlock(log, block.number, this.head.counts[log.tag]!)) this.blocks.set(block.log, block.number + 1)
  }

  /** CORRUPT, naming the first value that did not pass; undefined if all did. */
  missing(): FolioError | undefined {
    const { counts, since, last } = this.head
    for (const log of logs) {
      const [from, to, next] = [since[log.tag]!, counts[log.tag]!, this.blocks.get(log.tag)!]
      if (to > from && next <= blockNumber(log, to - 1))
        return corrupt(blockKey(log.tag, next), `a block of the ${log.name} log is missing, or lacks records`)
    }
    return last > 0 && this.digest <= last ? corrupt(digestKey(this.digest), `the digest of ledger ${this.digest} is missing`) : undefined
  }
}
