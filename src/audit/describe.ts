/** What a store holds, as its head says, and the digest of it. Only reads, and finishes nothing of what opening it as a ledger would finish. */
import { OptionRules } from '../check.ts'
import { FolioError } from '../errors.ts'
import { readHighWater } from '../ingest/high-water.ts'
import { checkEmpty, networkIn } from '../ingest/identity.ts'
import { isSame, stateOf } from '../ingest/state.ts'
import { decodeHead, decodeIntent, emptyHead, type Head, kindOf } from '../layout/head.ts'
import { ALL_KEYS, FORMAT, INTENT } from '../layout/keys.ts'
import { corrupt, isDamage } from '../layout/seal.ts'
import type { Resource } from '../query.ts'
import { effects } from '../resources/effect.ts'
import { operations } from '../resources/operation.ts'
import { trades } from '../resources/trade.ts'
import { failedTransactions, transactions } from '../resources/transaction.ts'
import { checkStore, ofStore, type Store } from '../store.ts'
import { type Context, entriesOf, readerUnder } from './context.ts'
import { refuseForeign } from './foreign.ts'
import { checkRange, digestOfRange, readDigests } from './range.ts'
import { eraOf, goneUnder } from './verify.ts'

export interface DescribeOptions {
  /** Stops it; it then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

const describeOptions = new OptionRules<DescribeOptions>('describe', { signal: 'signal' })

export interface StoreDescription {
  /** The name of the network, if the store was given one. */
  readonly network?: string
  /** How many are held. */
  readonly ledgers: number
  /** The first one ever appended, the oldest one held, and the newest, with its hash and when it closed; none of these if no ledger is held. */
  readonly first?: number
  readonly oldest?: number
  readonly last?: number
  readonly hash?: string
  readonly closedAt?: string
  /** How many of each kind the ledgers that are held have. */
  readonly records: Readonly<Record<'transactions' | 'failedTransactions' | 'operations' | 'effects' | 'trades', number>>
  /** As `ledger.digest()` gives it. */
  readonly digest: string
  /** A change that the next open finishes; a repair that has to be run again; or a copy, before whose end the store is none. */
  readonly unfinished?: 'rollback' | 'prune' | 'repair' | 'copy'
  /** The newest ledger that was held once, if it is not held now, or is another one with its number: the store is not opened then. */
  readonly noted?: number
}

/** As often as history moves meanwhile, it is looked at again. */
const TRIES = 5

/**
 * Describes a store, which may be written to meanwhile by processes that share it. Reads the head, and 32 bytes per ledger.
 * @throws BAD_REQUEST if an option is unknown or wrong, STORE_MISUSE if `store` is not a store, STORE_FORMAT, STORE_CATALOGUE, CORRUPT, CONFLICT if
 * another process goes on writing, CLOSED, STORE_FAILED, and the reason of the signal
 */
export async function describeStore(store: Store, options: DescribeOptions = {}): Promise<StoreDescription> {
  const { signal } = describeOptions.check(options)
  checkStore(store)
  return describe(store, signal).catch(ofStore(store))
}

async function describe(store: Store, signal: AbortSignal | undefined): Promise<StoreDescription> {
  for (let tries = 1; ; tries++) {
    const state = await stateOf(store)
    const hasMoved = async (): Promise<boolean> => store.capabilities.shared && !isSame(await stateOf(store), state)
    try {
      const found = await described(store, state.head, signal)
      if (!(await hasMoved())) return found
    } catch (error) {
      if (!isDamage(error) || !(await hasMoved())) throw error
    }
    if (tries === TRIES) throw new FolioError('CONFLICT', { reason: 'history moved while it was looked at, again and again' })
  }
}

async function described(store: Store, held: Uint8Array | undefined, signal: AbortSignal | undefined): Promise<StoreDescription> {
  const begun = await store.get(INTENT)
  const intent = begun && decodeIntent(begun)
  const isCopy = intent !== undefined && 'copy' in intent
  const network = isCopy ? undefined : await networkOfOwn(store)
  if (!held && !isCopy) await checkEmpty(store)
  const head = held ? decodeHead(held) : emptyHead
  const noted = await readHighWater(store.note, await eraOf(store))
  const reader = readerUnder(store, head)
  const isGone = !isCopy && (await goneUnder(reader, head, noted)) !== undefined
  return {
    ...(network !== undefined && { network }),
    ledgers: head.last === 0 ? 0 : head.last - head.oldest + 1,
    ...(head.last > 0 && { first: head.first, oldest: head.oldest, last: head.last, hash: head.hash, closedAt: head.closedAt }),
    records: recordsUnder(head),
    digest: await digestUnder(reader, head, signal),
    ...(intent && { unfinished: isCopy ? 'copy' : kindOf(intent) }),
    ...(isGone && { noted: noted!.last }),
  }
}

/** @throws STORE_FORMAT, STORE_CATALOGUE, CORRUPT, also if a store that holds anything has no format */
async function networkOfOwn(store: Store): Promise<string | undefined> {
  const format = await store.get(FORMAT)
  if (format) return networkIn(store, format)
  await refuseForeign(entriesOf(store, ALL_KEYS))
  const { entries } = await store.scan(ALL_KEYS, { limit: 1 })
  if (entries.length > 0) throw corrupt(FORMAT, 'the format of the store is missing')
  return undefined
}

function recordsUnder({ counts, since }: Head): StoreDescription['records'] {
  const held = ({ tag }: Resource): number => counts[tag]! - since[tag]!
  return {
    transactions: held(transactions),
    failedTransactions: held(failedTransactions),
    operations: held(operations),
    effects: held(effects),
    trades: held(trades),
  }
}

function digestUnder(reader: Context['reader'], head: Head, signal: AbortSignal | undefined): Promise<string> {
  const { from, to } = checkRange(head, {})
  return digestOfRange({ from, to }, (first, last) => {
    signal?.throwIfAborted()
    return reader.run((read) => readDigests(read, first, last))
  })
}
