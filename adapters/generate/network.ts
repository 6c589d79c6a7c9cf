/**
 * The state of the network while it runs: who exists, what is on offer, which operation is being made. Everything that operations do to it goes
 * through here, so that the operations of a failed transaction, which are built like any other, change nothing.
 */
import { Accounts, type Asset, decimal, listAssets } from './accounts.ts'
import { Book, type Fill, type Resting } from './book.ts'
import type { Integer, Settings } from './options.ts'
import { Random } from './random.ts'

/** A liquidity pool: the other side of some trades, without account or offer. */
export interface Pool {
  readonly id: string
  readonly assets: readonly [Asset, Asset]
}

const MAGNITUDES = [100, 1e4, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11]

export class Network {
  readonly random: Random
  readonly accounts: Accounts
  readonly assets: readonly Asset[]
  readonly pools: readonly Pool[]
  readonly book: Book
  /** The transaction being made fails: its operations change nothing. */
  failing = false
  /** The operation being made was sent out to trade. */
  trading = false
  /** The account of the transaction being made. */
  source = 0
  ledger: number
  closedAt = ''
  /** The id of the operation being made. */
  operation = 0n
  /** In stroops. */
  feePool = 4_156_694_543_236
  totalCoins = 1_054_439_020_873_472_865n

  constructor(settings: Settings) {
    this.random = new Random(settings.seed)
    this.ledger = settings.firstLedger
    this.accounts = new Accounts(this.random, settings.accounts, settings.firstLedger)
    this.assets = listAssets(this.random, this.accounts, settings.assets)
    this.book = new Book(this.random, settings.offers, settings.firstOffer)
    this.pools = Array.from({ length: 4 }, () => ({ id: this.random.hex(64), assets: this.pair() }))
  }

  id(rank: number): string {
    return this.accounts.id(rank)
  }

  /** Native two times in five. */
  asset(): Asset {
    return this.random.chance(0.3) ? this.assets[0]! : this.assets[this.random.zipf(this.assets.length)]!
  }

  issued(): Asset {
    return this.assets[1 + this.random.zipf(this.assets.length - 1)]!
  }

  pair(): [Asset, Asset] {
    const one = this.asset()
    const other = this.asset()
    return [one, other === one ? this.assets[(one.rank + 1) % this.assets.length]! : other]
  }

  /** Stroops of any order of magnitude, up to 10^12, often round. */
  amount(): number {
    const unit = this.random.pick(MAGNITUDES)
    return this.random.chance(0.5) ? unit * (1 + this.random.below(9)) : unit + this.random.wide(unit * 9)
  }

  /** As {@link amount}; for an issued asset now and then past 2^53. */
  payable(asset: Asset): Integer {
    if (asset.rank === 0 || !this.random.chance(0.04)) return this.amount()
    return (1n << 53n) + this.random.big((1n << 63n) - (1n << 53n))
  }

  /** The account if it is a founder, else some founder: someone who may make offers. */
  maker(rank: number): number {
    return rank < this.accounts.founders ? rank : this.accounts.founder()
  }

  newAccount(): number {
    return this.accounts.create(this.ledger)
  }

  /** The newest account, about to leave; undefined if nobody may. */
  leaver(source: number): number | undefined {
    const rank = this.accounts.count - 1
    if (rank < this.accounts.founders || rank === source || rank === this.source) return undefined
    if (!this.failing) this.accounts.retire()
    return rank
  }

  make(seller: number, selling: Asset, buying: Asset, amount: number, price: { n: number; d: number }): Resting | undefined {
    return this.failing || this.book.full ? undefined : this.book.make(seller, selling, buying, amount, price)
  }

  change(offer: Resting, amount: number, price: { n: number; d: number }): void {
    if (!this.failing) this.book.change(offer, amount, price)
  }

  remove(offer: Resting): void {
    if (!this.failing) this.book.remove(offer)
  }

  take(taker: number, first: Resting, count: number): Fill[] {
    return this.failing ? [] : this.book.take(taker, first, count)
  }

  bump(rank: number): Integer {
    return this.failing ? this.accounts.sequence(rank) : this.accounts.advance(rank, 1 + this.random.below(1000))
  }

  mint(stroops: number): string {
    if (!this.failing) this.totalCoins += BigInt(stroops)
    return decimal(stroops)
  }
}
