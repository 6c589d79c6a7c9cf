/**
 * Base64 members built like real XDR: a transaction's envelope, its result, and its metadata (the ledger entries before and after).
 * The frames are real, big-endian, padded to 4 bytes, and an account has the same 32 key bytes wherever it is named; the bodies are simplified
 * (accounts, assets, amount, in this order for every operation type), so no decoder will read them.
 * What is random in a real envelope is random here: keys and signatures. The rest is mostly zeros.
 */
import type { Accounts, Asset } from './accounts.ts'
import type { Integer } from './options.ts'
import type { Random } from './random.ts'

export class Xdr {
  length = 0
  private bytes = Buffer.alloc(4096)
  private readonly accounts: Accounts

  constructor(accounts: Accounts) {
    this.accounts = accounts
  }

  u32(value: number): void {
    const at = this.room(4)
    this.bytes[at] = value >>> 24
    this.bytes[at + 1] = value >>> 16
    this.bytes[at + 2] = value >>> 8
    this.bytes[at + 3] = value
  }

  u64(value: Integer): void {
    const high = typeof value === 'bigint' ? Number(value >> 32n) : Math.floor(value / 4_294_967_296)
    this.u32(high)
    this.u32(typeof value === 'bigint' ? Number(value & 0xffffffffn) : value)
  }

  key(rank: number): void {
    this.u32(0)
    const at = this.room(32)
    this.bytes.set(this.accounts.keyOf(rank), at)
  }

  ascii(text: string, width: number): void {
    const at = this.room(width)
    this.bytes.fill(0, at, at + width)
    this.bytes.write(text, at, width, 'latin1')
  }

  asset(asset: Asset): void {
    this.u32(asset.type === 'native' ? 0 : asset.type === 'credit_alphanum4' ? 1 : 2)
    if (asset.rank === 0) return
    this.ascii(asset.code, asset.type === 'credit_alphanum4' ? 4 : 12)
    this.key(asset.issuer)
  }

  /** A decorated signature: the last bytes of the signer's key, then 64 random bytes. */
  signature(rank: number, random: Random): void {
    const at = this.room(72)
    this.bytes.set(this.accounts.keyOf(rank).subarray(28), at)
    this.bytes.set([0, 0, 0, 64], at + 4)
    random.fill(this.bytes, at + 8, 64)
  }

  /** An account entry as metadata shows it, before (3) or after (1) a change. */
  entry(state: 1 | 3, rank: number, ledger: number, balance: number): void {
    this.u32(state)
    this.u32(ledger)
    this.u32(0)
    this.key(rank)
    this.u64(balance)
    this.u64(this.accounts.sequence(rank))
    for (const word of [0, 0, 0, 0, 0x01000000, 0, 1, 0, 0, 0, 0]) this.u32(word)
  }

  /** What was written, as base64; empties the writer. */
  finish(): string {
    const text = this.bytes.toString('base64', 0, this.length)
    this.length = 0
    return text
  }

  /** Makes room for `more` bytes, and returns where; `bytes` may be another buffer afterwards. */
  private room(more: number): number {
    const at = this.length
    this.length += more
    if (this.length > this.bytes.length) this.bytes = Buffer.concat([this.bytes], this.length * 2)
    return at
  }
}

/** What an operation names, for its XDR. */
export interface Named {
  readonly accounts: readonly number[]
  readonly assets?: readonly Asset[]
  readonly amount?: Integer
}

/** The three members of one transaction, written as its operations arrive. */
export class Envelope {
  private readonly body: Xdr
  private readonly result: Xdr
  private readonly meta: Xdr
  private readonly seen: number[] = []
  private readonly random: Random

  constructor(accounts: Accounts, random: Random) {
    this.body = new Xdr(accounts)
    this.result = new Xdr(accounts)
    this.meta = new Xdr(accounts)
    this.random = random
  }

  begin(source: number, maxFee: number, feePaid: number, sequence: Integer, memo: string, operations: number, failed: boolean): void {
    const { body, result, meta } = this
    body.u32(2)
    body.key(source)
    body.u32(maxFee)
    body.u64(sequence)
    body.u32(0)
    body.u32(memo === '' ? 0 : 1)
    if (memo !== '') {
      body.u32(memo.length)
      body.ascii(memo, (memo.length + 3) & ~3)
    }
    body.u32(operations)
    result.u64(feePaid)
    result.u32(failed ? 0xffffffff : 0)
    result.u32(operations)
    meta.u32(2)
    this.seen.length = 0
    this.seen.push(source)
  }

  operation(code: number, own: boolean, source: number, { accounts, assets = [], amount = 0 }: Named, failed: boolean): void {
    const { body, result } = this
    body.u32(own ? 1 : 0)
    if (own) body.key(source)
    body.u32(code)
    for (const rank of accounts) {
      if (!this.seen.includes(rank) && this.seen.length < 8) this.seen.push(rank)
      if (rank !== source) body.key(rank)
    }
    for (const asset of assets) body.asset(asset)
    body.u64(amount)
    result.u32(0)
    result.u32(code)
    result.u32(failed ? 0xffffffff : 0)
  }

  /** Signs, and fills the metadata with entries of the accounts named, until all three together have about `target` bytes. */
  finish(source: number, ledger: number, target: number): { envelope_xdr: string; result_xdr: string; result_meta_xdr: string } {
    const { body, result, meta, seen } = this
    body.u32(0)
    body.u32(1)
    body.signature(source, this.random)
    result.u32(0)
    let at = 0
    while (body.length + result.length + meta.length < target - 56) {
      const rank = seen[(at >> 1) % seen.length]!
      meta.entry(at % 2 === 0 ? 3 : 1, rank, at % 2 === 0 ? ledger - 1 : ledger, (rank + 1) * 9_999_999_900 - (at >> 1) * 100)
      at++
    }
    meta.u32(0)
    return { envelope_xdr: body.finish(), result_xdr: result.finish(), result_meta_xdr: meta.finish() }
  }
}
