/**
 * One transaction: its operations, drawn from the tables, and the record around them.
 */
import { later } from './later.ts'
import type { Act, Row } from './moves.ts'
import type { Network } from './network.ts'
import { operations } from './operations.ts'
import type { GeneratedMembers, GeneratedOperation, GeneratedTrade, GeneratedTransaction, Settings } from './options.ts'
import { Envelope } from './xdr.ts'

const rows = [...operations, ...later]
/** Every row as often as its weight says, so that a uniform pick is a weighted one. */
const urn = rows.flatMap((row) => new Array<Row>(row.often).fill(row))
const tradingUrn = rows.flatMap((row) => new Array<Row>(row.trading ?? 0).fill(row))
const payment = rows[1]!

const TEXTS = [
  'invoice 2018-11',
  'coffee ☕',
  'say "hi"',
  'C:\\temp',
  'a\tb',
  'Grüße',
  '{"k":1}',
  'line one\nline two',
  '💸',
  'deposit 993',
  '',
]

/** The fee that a transaction allows, as multiples of what it pays. */
const GENEROUS = [1, 10, 100, 1000]

function memo(net: Network): GeneratedMembers {
  const { random } = net
  switch (random.below(8)) {
    case 0:
      return { memo_type: 'text', memo: random.pick(TEXTS) }
    case 1:
      return { memo_type: 'text', memo: `order ${random.below(1_000_000)}` }
    case 2:
      return { memo_type: 'id', memo: String(random.chance(0.5) ? random.below(100_000_000) : random.big(1n << 64n)) }
    case 3:
      return { memo_type: random.chance(0.7) ? 'hash' : 'return', memo: Buffer.from(random.hex(64), 'hex').toString('base64') }
    default:
      return { memo_type: 'none' }
  }
}

/** The records with an explicit, strictly rising `index` in front, starting at `from`, some numbers left out. */
function numbered<T extends GeneratedMembers>(net: Network, from: number, records: T[]): (T & { index: number })[] {
  let index = from - 1
  return records.map((record) => {
    index += net.random.chance(0.2) ? 2 + net.random.below(3) : 1
    return { index, ...record }
  })
}

/** Makes transactions, one after another, on one network. */
export class Transactions {
  private readonly net: Network
  private readonly settings: Settings
  private readonly envelope: Envelope

  constructor(net: Network, settings: Settings) {
    this.net = net
    this.settings = settings
    this.envelope = new Envelope(net.accounts, net.random)
  }

  /** Transaction number `place` of the current ledger, counted from 1. */
  make(place: number): GeneratedTransaction {
    const { net, settings, envelope } = this
    const { random, accounts } = net
    const source = accounts.any()
    const count = random.several(settings.operationsPerTransaction, 100)
    const failed = random.chance(settings.failedShare)
    const fee_paid = 100 * count
    const max_fee = random.chance(0.5) ? fee_paid : fee_paid * random.pick(GENEROUS)
    const account_sequence = accounts.advance(source)
    const population = accounts.count
    const note = memo(net)
    const text = String(note['memo'] ?? '')
    const account = net.id(source)
    net.failing = failed
    net.source = source
    net.feePool += fee_paid
    envelope.begin(source, max_fee, fee_paid, account_sequence, text, count, failed)
    const named = new Set([account])
    const made: GeneratedOperation[] = []
    for (let i = 1; i <= count; i++) {
      net.operation = (BigInt(net.ledger) << 32n) | BigInt(place * 4096 + i)
      made.push(this.operation(source, failed, named))
    }
    const target = Math.floor(settings.envelopeBytes * (0.75 + random.below(512) / 1024))
    const transaction: GeneratedTransaction = {
      hash: random.hex(64),
      account,
      account_sequence,
      max_fee,
      fee_paid,
      operation_count: count,
      ...envelope.finish(source, net.ledger, target),
      ...note,
      operations: made,
    }
    if (failed) transaction.successful = false
    else if (random.chance(0.5)) transaction.successful = true
    if (random.chance(0.4)) transaction.participants = [...named]
    net.failing = false
    if (failed) accounts.count = population
    return transaction
  }

  private operation(txSource: number, failed: boolean, named: Set<string>): GeneratedOperation {
    const { net } = this
    const { random } = net
    net.trading = random.chance(this.settings.tradeShare)
    const source = random.chance(0.06) ? net.accounts.any() : txSource
    let row = random.pick(net.trading ? tradingUrn : urn)
    let act: Act | undefined = row.act(net, source)
    if (act === undefined) {
      row = payment
      act = row.act(net, source)!
    }
    const doer = act.source ?? source
    const own = doer !== txSource
    this.envelope.operation(row.code, own, doer, act, failed)
    const ids = act.accounts.map((rank) => net.id(rank))
    for (const id of ids) named.add(id)
    const record: GeneratedOperation = { type: row.type }
    if (row.code > 11 || random.chance(0.9)) record.type_i = row.code
    if (own || random.chance(0.5)) record.source_account = net.id(doer)
    Object.assign(record, act.members)
    if (random.chance(0.4)) record.participants = [...new Set(ids)]
    if (!failed) this.follow(record, act)
    return record
  }

  /** The effects and trades of an operation that succeeded; a few operations' effects are not known. */
  private follow(record: GeneratedOperation, { effects = [], trades = [] }: Act): void {
    const { net } = this
    const { random } = net
    if (effects.length > 0 && random.chance(0.98)) record.effects = random.chance(0.25) ? numbered(net, 1, effects) : effects
    else if (random.chance(0.5)) record.effects = []
    if (trades.length > 0) record.trades = (random.chance(0.25) ? numbered(net, 0, trades) : trades) as GeneratedTrade[]
  }
}
