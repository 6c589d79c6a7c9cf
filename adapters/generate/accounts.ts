/**
 * The accounts and assets of a network, and how their values are spelled.
 * An account is its rank: low ranks act often. Its id is a true strkey (SEP-23) of its 32 key bytes, which also appear in the XDR members.
 * **Invariant:** founders, the accounts that exist at the start, never leave; only they issue assets and make offers.
 */
import type { GeneratedMembers, Integer } from './options.ts'
import type { Random } from './random.ts'

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** `G…`: version byte 48, the key, CRC-16/XMODEM little-endian; 35 bytes are 56 characters without padding. */
function strkey(key: Uint8Array): string {
  const bytes = new Uint8Array(35)
  bytes[0] = 48
  bytes.set(key, 1)
  let crc = 0
  for (let i = 0; i < 33; i++) {
    crc ^= bytes[i]! << 8
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : crc << 1
  }
  bytes[33] = crc
  bytes[34] = crc >> 8
  const out = Buffer.allocUnsafe(56)
  let held = 0
  let bits = 0
  let at = 0
  for (const byte of bytes) {
    held = (held << 8) | byte
    for (bits += 8; bits >= 5; bits -= 5) out[at++] = BASE32.charCodeAt((held >> (bits - 5)) & 31)
    held &= 31
  }
  return out.toString('latin1')
}

/** `created << 32 | used`: a number while that is exact. */
const sequenceOf = (created: number, used: number): Integer =>
  created < 2_097_152 ? created * 4_294_967_296 + used : (BigInt(created) << 32n) + BigInt(used)

export class Accounts {
  /** How many accounts there are: ranks 0 … count - 1. */
  count = 0
  readonly founders: number
  private readonly random: Random
  private readonly ids: string[] = []
  private readonly created: number[] = []
  private readonly used: number[] = []
  private keys: Buffer

  constructor(random: Random, founders: number, firstLedger: number) {
    this.random = random
    this.founders = founders
    this.keys = Buffer.alloc(founders * 40)
    for (let i = 0; i < founders; i++)
      this.create(random.chance(0.5) ? Math.max(1, firstLedger - random.below(2000)) : 1 + random.below(firstLedger))
  }

  /** The newest rank. An account that has left may have had the same one. */
  create(ledger: number): number {
    const rank = this.count++
    if (this.count * 32 > this.keys.length) this.keys = Buffer.concat([this.keys], this.keys.length * 2)
    this.random.fill(this.keys, rank * 32, 32)
    this.ids[rank] = strkey(this.keyOf(rank))
    this.created[rank] = ledger
    this.used[rank] = 0
    return rank
  }

  /** Removes the newest account; its id and key stay readable until the next `create`. */
  retire(): void {
    if (this.count > this.founders) this.count--
  }

  id(rank: number): string {
    return this.ids[rank]!
  }

  keyOf(rank: number): Uint8Array {
    return this.keys.subarray(rank * 32, rank * 32 + 32)
  }

  any(): number {
    return this.random.zipf(this.count)
  }

  founder(): number {
    return this.random.zipf(this.founders)
  }

  /** Another account than `rank`. */
  other(rank: number): number {
    const found = this.any()
    return found === rank ? (rank + 1) % this.founders : found
  }

  sequence(rank: number): Integer {
    return sequenceOf(this.created[rank]!, this.used[rank]!)
  }

  /** Raises the account's sequence by `step`, and returns it. */
  advance(rank: number, step = 1): Integer {
    this.used[rank]! += step
    return this.sequence(rank)
  }
}

export interface Asset {
  readonly rank: number
  readonly type: 'native' | 'credit_alphanum4' | 'credit_alphanum12'
  readonly code: string
  /** The issuer's rank, and its id; the native asset has none. */
  readonly issuer: number
  readonly issuerId: string
  /** What one unit is worth, 1 … 1,000: the mid prices of the book follow from it. */
  readonly worth: number
}

const CODES =
  'USD BTC EUR MOBI ETH CNY REPOCOIN SLT XRP NGNT SEC yUSDC TK1 AnchorUSD KIN ARST DOGECOIN TK2 JPY RMT TERN PUBLIC2020 BB1'.split(' ')

/** Asset 0 is native. The codes repeat with other issuers, then give way to made-up ones of 1 to 12 characters; no asset occurs twice. */
export function listAssets(random: Random, accounts: Accounts, count: number): Asset[] {
  const assets: Asset[] = [{ rank: 0, type: 'native', code: 'XLM', issuer: -1, issuerId: '', worth: 10 }]
  const known = new Set<string>()
  while (assets.length <= count) {
    let code = assets.length <= CODES.length ? CODES[assets.length - 1]! : random.chance(0.4) ? random.pick(CODES) : ''
    for (let left = code === '' ? 1 + random.below(12) : 0; left > 0; left--) code += BASE32[random.below(26)]
    const issuer = random.below(accounts.founders)
    const type = code.length > 4 ? 'credit_alphanum12' : 'credit_alphanum4'
    const asset: Asset = { rank: assets.length, type, code, issuer, issuerId: accounts.id(issuer), worth: 1 + random.zipf(1000) }
    if (known.has(canonical(asset))) continue
    known.add(canonical(asset))
    assets.push(asset)
  }
  return assets
}

/** `asset_type`, and for an issued asset `asset_code` and `asset_issuer`, each name prefixed with `prefix`. */
export function named(asset: Asset, prefix = ''): GeneratedMembers {
  if (asset.rank === 0) return { [`${prefix}asset_type`]: 'native' }
  return { [`${prefix}asset_type`]: asset.type, [`${prefix}asset_code`]: asset.code, [`${prefix}asset_issuer`]: asset.issuerId }
}

/** `CODE:ISSUER`, or `native`. */
export const canonical = (asset: Asset): string => (asset.rank === 0 ? 'native' : `${asset.code}:${asset.issuerId}`)

/** Stroops as a decimal with 7 fractional digits. */
export function decimal(stroops: Integer): string {
  const digits = String(stroops).padStart(8, '0')
  return `${digits.slice(0, -7)}.${digits.slice(-7)}`
}
