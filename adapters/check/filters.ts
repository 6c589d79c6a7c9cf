/** The laws of filters: trades of a pair of assets, and of an offer. */
import { checkSame } from './belongs.ts'
import type { Client } from './client.ts'
import { Ends, type FormLaw, type Listed, withParams } from './document.ts'
import { type Members, tokenOf } from './hal.ts'
import { textOf } from './paged.ts'
import { Fault } from './window.ts'

/** Why the laws say nothing of a listing. */
const NO_PAIR = 'none of its first records is a trade of two assets'
const NO_OFFER = 'none of its first records is a trade that names an offer'

const sides = ['base', 'counter'] as const
type Side = (typeof sides)[number]
const otherSide = { base: 'counter', counter: 'base' } as const
const parts = ['asset_type', 'asset_code', 'asset_issuer'] as const

const assetOf = (record: Members, side: Side): string => parts.map((part) => textOf(record[`${side}_${part}`] ?? '')).join()
const pairOf = (record: Members): string =>
  sides
    .map((side) => assetOf(record, side))
    .sort()
    .join()

/** A listing's URL with the pair of a record, the assets of which it may name as the record does, or the other way round. */
function ofPair(url: string, record: Members, turned: boolean): string {
  const params = sides.flatMap((side) =>
    parts.flatMap((part) => {
      const value = record[`${turned ? otherSide[side] : side}_${part}`]
      return value === undefined ? [] : [[`${side}_${part}`, String(value)] as const]
    }),
  )
  return withParams(url, ...params)
}

/** What stands on either side of a trade, as if base and counter had changed places. */
function turnedSides(record: Members): Members {
  const name = (one: string): string => one.replace(/^(base|counter)(?=_(?!is_))/, (side) => otherSide[side as Side])
  return Object.fromEntries(Object.entries(record).map(([one, value]) => [name(one), value]))
}

/** @throws Fault if a trade has something else on one of its sides than is known of it */
function checkSides(came: Members, known: Members, where: string): void {
  const name = Object.keys(known).find((one) => /^(?:base|counter)_(?!is_)/.test(one) && textOf(came[one]) !== textOf(known[one]))
  if (name === undefined) return
  throw new Fault(`${where}: ${name} of ${tokenOf(known)} is ${textOf(came[name])}, not ${textOf(known[name])}`)
}

const offerIds = ['offer_id', 'base_offer_id', 'counter_offer_id'] as const

const namesOffer = (record: Members, offer: string): boolean => offerIds.some((name) => String(record[name]) === offer)

/** An offer for each of the names under which trades name one. As a filter, offer 0 stands for any. */
function offersOf(records: readonly Members[]): string[] {
  const found = offerIds.flatMap((name) => records.map((record) => String(record[name] ?? '0')).find((id) => id !== '0') ?? [])
  return [...new Set(found)]
}

/** @returns what comes under a filter, if that is the wanted records in their order, and then more. @throws Fault */
async function filtered(client: Client, asked: string, wanted: readonly Members[]): Promise<Members[]> {
  const came = await new Ends(client, asked, false).oldest()
  for (const [n, record] of wanted.entries()) {
    const found = came[n]
    if (!found || tokenOf(found) !== tokenOf(record))
      throw new Fault(`GET ${asked}: expected ${tokenOf(record)} at place ${n}, got ${found ? tokenOf(found) : 'no record'}`)
  }
  return came
}

const concerns = ({ place, url }: Listed): boolean => place?.query.filters !== undefined && new URL(url).search === ''

export const filterLaws: readonly FormLaw[] = [
  {
    name: 'a pair of assets, whichever is named as base, filters the trades that have both, and turns each of them to face as it does',
    concerns,
    async check({ client, url, ends }) {
      const all = await ends.oldest()
      const first = all.find((record) => assetOf(record, 'base') !== assetOf(record, 'counter') && record['base_asset_type'] !== undefined)
      if (!first) return NO_PAIR
      const wanted = all.filter((record) => pairOf(record) === pairOf(first))
      for (const turned of [false, true]) {
        const asked = ofPair(url, first, turned)
        const base = assetOf(first, turned ? 'counter' : 'base')
        const came = await filtered(client, asked, wanted)
        for (const [n, record] of wanted.entries())
          checkSides(came[n]!, assetOf(record, 'base') === base ? record : turnedSides(record), `GET ${asked}`)
        const other = came.find((record) => pairOf(record) !== pairOf(first))
        if (other) throw new Fault(`GET ${asked}: has ${tokenOf(other)}, which is of another pair`)
      }
      return undefined
    },
  },
  {
    name: 'an offer filters the trades that name it, on either side',
    concerns,
    async check({ client, url, ends }) {
      const all = await ends.oldest()
      const offers = offersOf(all)
      for (const offer of offers) {
        const asked = withParams(url, ['offer_id', offer])
        const wanted = all.filter((record) => namesOffer(record, offer))
        const came = await filtered(client, asked, wanted)
        for (const [n, record] of wanted.entries()) checkSame(came[n]!, record, `GET ${asked}`, url)
        const other = came.find((record) => !namesOffer(record, offer))
        if (other) throw new Fault(`GET ${asked}: has ${tokenOf(other)}, which does not name the offer`)
      }
      return offers.length === 0 ? NO_OFFER : undefined
    },
  },
]
