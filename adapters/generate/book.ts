/**
 * The live offers: made, changed, taken, removed, and what a ledger has to say about them when it closes.
 * **Invariant:** no two offers cross, unless both belong to one account (which never takes its own).
 * **Invariant:** the book holds at most `most` offers, and at the close of a ledger exactly those that the ledgers' `offers` add up to.
 */
import type { Accounts, Asset } from './accounts.ts'
import { decimal, named } from './accounts.ts'
import type { GeneratedOffer, Integer } from './options.ts'
import type { Random } from './random.ts'

export interface Resting {
  readonly id: Integer
  readonly seller: number
  readonly selling: Asset
  readonly buying: Asset
  amount: number
  /** One of `selling` costs n / d of `buying`. */
  n: number
  d: number
  live: boolean
  /** Listed by an earlier ledger. */
  listed: boolean
  /** Where it is in the list of all offers. */
  slot: number
}

/** The part of an offer that a taker consumed: `sold` left the offer's seller, `paid` went to it. */
export interface Fill {
  readonly offer: Resting
  readonly sold: number
  readonly paid: number
}

/** One ordered pair of assets. */
const sideOf = (selling: Asset, buying: Asset): number => selling.rank * 1024 + buying.rank

/** ceil(amount · n / d), exact. */
const cost = (amount: number, n: number, d: number): number => Number((BigInt(amount) * BigInt(n) + BigInt(d) - 1n) / BigInt(d))

/** n / d with 7 fractional digits. */
export const priceText = (n: number, d: number): string => decimal(Math.floor((n * 20_000_000 + d) / (2 * d)))

export class Book {
  private readonly all: Resting[] = []
  /** The offers of each ordered pair of assets, cheapest first. */
  private readonly sides = new Map<number, Resting[]>()
  private readonly touched = new Set<Resting>()
  private readonly strangers = new Set<Integer>()
  private readonly random: Random
  private readonly most: number
  private readonly firstOffer: Integer
  private nextId: Integer

  constructor(random: Random, most: number, firstOffer: Integer) {
    this.random = random
    this.most = most
    this.nextId = firstOffer
    this.firstOffer = firstOffer
  }

  get full(): boolean {
    return this.all.length >= this.most
  }

  any(): Resting | undefined {
    return this.all.length === 0 ? undefined : this.random.pick(this.all)
  }

  /** The best offer that sells `selling` for `buying`. */
  best(selling: Asset, buying: Asset): Resting | undefined {
    return this.side(selling, buying)[0]
  }

  /** A price a few percent above the ratio of the two assets' worths, or more if that would cross the best offer of the other side. */
  quote(selling: Asset, buying: Asset): { n: number; d: number } {
    const price = { n: selling.worth * (101 + this.random.below(7)), d: buying.worth * 100 }
    const against = this.best(buying, selling)
    return against === undefined || price.n * against.n > price.d * against.d ? price : { n: against.d + 1, d: against.n }
  }

  /** Whether those who consumed these offers could have had more: an offer that is left costs no more than the last of them. */
  deeper({ selling, buying, n, d }: Resting): boolean {
    const left = this.best(selling, buying)
    return left !== undefined && left.n * d <= n * left.d
  }

  make(seller: number, selling: Asset, buying: Asset, amount: number, price: { n: number; d: number }): Resting {
    const offer: Resting = { id: this.nextId, seller, selling, buying, amount, ...price, live: true, listed: false, slot: this.all.length }
    this.nextId = typeof this.nextId === 'number' && this.nextId < Number.MAX_SAFE_INTEGER ? this.nextId + 1 : BigInt(this.nextId) + 1n
    this.all.push(offer)
    this.file(offer)
    return offer
  }

  change(offer: Resting, amount: number, price: { n: number; d: number }): void {
    this.unfile(offer)
    offer.amount = amount
    offer.n = price.n
    offer.d = price.d
    this.file(offer)
  }

  remove(offer: Resting): void {
    this.unfile(offer)
    offer.live = false
    this.touched.add(offer)
    const last = this.all.pop()!
    if (last !== offer) {
      this.all[offer.slot] = last
      last.slot = offer.slot
    }
  }

  /** Removes an offer from before the first ledger, which no ledger ever listed: its id is below the first offer's. */
  forget(): Integer {
    const id = BigInt(this.firstOffer) - 1n - BigInt(this.random.below(5_000))
    const stranger = id < 1n ? 0 : id <= Number.MAX_SAFE_INTEGER ? Number(id) : id
    if (stranger !== 0) this.strangers.add(stranger)
    return stranger
  }

  /** Takes up to `count` offers from the side that `first` is on, best first, possibly only a part of the last. Never the taker's own. */
  take(taker: number, first: Resting, count: number): Fill[] {
    const fills: Fill[] = []
    for (const offer of this.side(first.selling, first.buying)
      .filter((one) => one.seller !== taker)
      .slice(0, count)) {
      const partial = fills.length === count - 1 && offer.amount > 10 && this.random.chance(0.6)
      const sold = partial ? 1 + this.random.wide(offer.amount - 1) : offer.amount
      fills.push({ offer, sold, paid: cost(sold, offer.n, offer.d) })
      offer.amount -= sold
      if (offer.amount === 0) this.remove(offer)
      else this.touched.add(offer)
    }
    return fills
  }

  /** What changed since the last close; undefined if nothing did. */
  close(ledger: number, closedAt: string, accounts: Accounts): { changed: GeneratedOffer[]; removed: Integer[] } | undefined {
    const changed: GeneratedOffer[] = []
    const removed: Integer[] = [...this.strangers]
    this.strangers.clear()
    const touched = [...this.touched].sort((a, b) => (a.id < b.id ? -1 : 1))
    this.touched.clear()
    for (const { id, seller, selling, buying, amount, n, d, live, listed } of touched) {
      if (live)
        changed.push({
          id,
          seller: accounts.id(seller),
          selling: named(selling) as GeneratedOffer['selling'],
          buying: named(buying) as GeneratedOffer['buying'],
          amount: decimal(amount),
          price_r: { n, d },
          price: priceText(n, d),
          last_modified: closedAt,
          last_modified_ledger: ledger,
        })
      else if (listed) removed.push(id)
    }
    for (const offer of touched) offer.listed = true
    return changed.length + removed.length === 0 ? undefined : { changed, removed }
  }

  private side(selling: Asset, buying: Asset): readonly Resting[] {
    return this.sides.get(sideOf(selling, buying)) ?? []
  }

  private file(offer: Resting): void {
    const key = sideOf(offer.selling, offer.buying)
    const side = this.sides.get(key) ?? []
    let at = side.length
    while (at > 0 && side[at - 1]!.n * offer.d > offer.n * side[at - 1]!.d) at--
    side.splice(at, 0, offer)
    this.sides.set(key, side)
    this.touched.add(offer)
  }

  private unfile(offer: Resting): void {
    const key = sideOf(offer.selling, offer.buying)
    const side = this.sides.get(key)!
    side.splice(side.indexOf(offer), 1)
    if (side.length === 0) this.sides.delete(key)
  }
}
