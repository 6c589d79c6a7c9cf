/**
 * The peer of full scans: LevelDB as one would use it without an engine, with one key and one value per record, read through its iterator.
 * The values are the same bytes that our blocks hold.
 */
import { ClassicLevel } from 'classic-level'

type Database = ClassicLevel<Uint8Array, Uint8Array>

export class LevelRaw {
  private readonly db: Database

  private constructor(db: Database) {
    this.db = db
  }

  static async open(directory: string): Promise<LevelRaw> {
    const db: Database = new ClassicLevel(directory, {
      keyEncoding: 'view',
      valueEncoding: 'view',
      cacheSize: 32 << 20,
      writeBufferSize: 16 << 20,
    })
    await db.open()
    return new LevelRaw(db)
  }

  /** Loads records in the order of their ids. */
  async load(records: AsyncIterable<readonly [id: bigint, bytes: Uint8Array]>): Promise<void> {
    let batch: { type: 'put'; key: Uint8Array; value: Uint8Array }[] = []
    for await (const [id, value] of records) {
      const key = new Uint8Array(8)
      new DataView(key.buffer).setBigUint64(0, id)
      batch.push({ type: 'put', key, value })
      if (batch.length < 1000) continue
      await this.db.batch(batch)
      batch = []
    }
    await this.db.batch(batch)
    await this.db.compactRange(new Uint8Array(0), new Uint8Array(9).fill(255))
  }

  /**
   * `iterator`: one record at a time, as `for await` yields them. `nextv`: a thousand at a time, the fastest way. With `parsed` appended, each record
   * is parsed too.
   */
  async *scan(how: string): AsyncGenerator<number> {
    const parsed = how.endsWith('parsed')
    const iterator = this.db.iterator({ highWaterMarkBytes: 4 << 20 })
    const take = (value: Uint8Array): void => {
      if (parsed) JSON.parse(`{${Buffer.from(value.buffer, value.byteOffset, value.length).toString()}}`)
    }
    if (how.startsWith('iterator')) {
      let count = 0
      for await (const [, value] of iterator) {
        take(value)
        count++
      }
      yield count
      return
    }
    for (;;) {
      const entries = await iterator.nextv(1000)
      if (entries.length === 0) break
      for (const [, value] of entries) take(value)
      yield entries.length
    }
    await iterator.close()
  }

  async close(): Promise<void> {
    await this.db.close()
  }
}
