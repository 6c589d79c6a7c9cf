/**
 * A lifelike network, made up from a seed: ledger closes as the write side takes them, as objects or as NDJSON.
 * Accounts act by Zipf's law and come and go, offers rest in a book and are consumed by trades, transactions fail, ledgers stay empty.
 * **Invariant:** the same options give the same ledgers, byte for byte, on every platform and version of Node. Memory is bounded by the accounts
 * (about 300 bytes each) and the book.
 */
import { disposable } from '../../src/index.ts'
import { decimal } from './accounts.ts'
import { Network } from './network.ts'
import { type GeneratedClose, type GenerateOptions, type Settings, settle } from './options.ts'
import { Transactions } from './transaction.ts'

export type {
  GeneratedClose,
  GeneratedLedger,
  GeneratedMembers,
  GeneratedOffer,
  GeneratedOperation,
  GeneratedTransaction,
  GenerateOptions,
  Integer,
} from './options.ts'
export { generateDefaults } from './options.ts'

/**
 * Closes `options.ledgers` ledgers, one by one as they are asked for. Integers are numbers where exact, and bigints beyond 2^53. Each close belongs
 * to the receiver.
 * @throws BAD_REQUEST at the call, before any ledger is asked for, if an option is missing, out of range, or unknown; `field` names it
 */
export function generate(options: GenerateOptions): Generator<GeneratedClose, void, undefined> {
  return disposable(closes(settle(options)))
}

function* closes(settings: Settings): Generator<GeneratedClose, void, undefined> {
  const net = new Network(settings)
  const transactions = new Transactions(net, settings)
  const { random } = net
  const mean = (settings.transactionsPerLedger * 40) / 39
  let prev = settings.firstLedger === 1 ? '' : random.hex(64)
  for (let nth = 0; nth < settings.ledgers; nth++) {
    const sequence = settings.firstLedger + nth
    const fraction = random.chance(0.04) ? random.below(1000) : 0
    const closed = new Date((settings.startTime + 5 * nth) * 1000 + fraction).toISOString()
    const closed_at = fraction === 0 ? closed.replace('.000Z', 'Z') : closed
    net.ledger = sequence
    net.closedAt = closed_at
    const count = random.chance(1 / 40) ? 0 : Math.floor((2 * mean * random.below(65_536)) / 65_536 + 0.5)
    const made = Array.from({ length: count }, (_, place) => transactions.make(place + 1))
    const failed = made.filter((one) => one.successful === false).length
    const counts = {
      transaction_count: count - failed,
      successful_transaction_count: count - failed,
      failed_transaction_count: failed,
      operation_count: made.reduce((sum, one) => sum + (one.successful === false ? 0 : one.operations.length), 0),
    }
    const hash = random.hex(64)
    const ledger = {
      ...{ hash, prev_hash: prev, sequence },
      ...(random.chance(0.95) ? counts : {}),
      closed_at,
      total_coins: decimal(net.totalCoins),
      fee_pool: decimal(net.feePool),
      base_fee_in_stroops: 100,
      base_reserve_in_stroops: 5_000_000,
      max_tx_set_size: Math.max(100, Math.floor(settings.transactionsPerLedger * 3)),
      protocol_version: 10,
    }
    prev = hash
    const offers = net.book.close(sequence, closed_at, net.accounts)
    yield offers === undefined ? { ledger, transactions: made } : { ledger, transactions: made, offers }
  }
}

/** The same closes as NDJSON: one line each, without a line feed; bigints are bare digits. @throws BAD_REQUEST at the call, as {@link generate} */
export function generateLines(options: GenerateOptions): Generator<string, void, undefined> {
  return disposable(lines(generate(options)))
}

function* lines(closes: Iterable<GeneratedClose>): Generator<string, void, undefined> {
  for (const close of closes) yield line(close)
}

/**
 * What `stringifyJson` gives, for plain objects, arrays, strings, finite numbers and booleans, whose members have names of ours that need no escapes.
 * That function was measured to take half as long again: most ledgers hold bigints, which it notices only once it has tried `JSON.stringify`.
 */
function line(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value !== 'object') return String(value)
  let out = ''
  if (Array.isArray(value)) {
    for (const item of value) out += (out === '' ? '' : ',') + line(item)
    return `[${out}]`
  }
  for (const name in value) out += (out === '' ? '"' : ',"') + name + '":' + line((value as Record<string, unknown>)[name])
  return `{${out}}`
}
