/**
 * The extended profile: members beyond the documented ones that published clients and explorers read, each derived from what is stored.
 * **Invariant:** they come after the members of the record, and one that the record already has is left as it is.
 */
import { type Block, catalogue, type OpenRecord, type RecordName } from '../../src/index.ts'

/** `document`: the members of the service document and what the input carried. `extended`: derived members as well. */
export type Profile = 'document' | 'extended'

export const profiles: readonly Profile[] = ['document', 'extended']

type Derived = Record<string, unknown>
/** @param text the record's JSON text */
type Derive = (members: OpenRecord, block: Block, at: number, text: string) => Derived

/** The digits of `account_sequence`, exact, since the text has it before any open member. */
const sequenceOf = (text: string): string | undefined => /,"account_sequence":(\d+)/.exec(text)?.[1]

const SIGNATURE = 64
const DECORATED = 4 + 4 + SIGNATURE
const MAX_SIGNATURES = 20

const base64Of = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))

/**
 * The signatures at the end of a transaction envelope (XDR): `count:4`, then for each `hint:4 length:4 signature`. Since it is read from the end,
 * only signatures of 64 bytes are found; an envelope that does not end in such an array gives undefined.
 */
export function signaturesOf(envelope: unknown): string[] | undefined {
  if (typeof envelope !== 'string') return undefined
  let bytes: Uint8Array
  try {
    bytes = Uint8Array.from(atob(envelope), (one) => one.charCodeAt(0))
  } catch {
    return undefined
  }
  const view = new DataView(bytes.buffer)
  for (let count = 1; count <= MAX_SIGNATURES; count++) {
    const start = bytes.length - count * DECORATED
    if (start < 4) return undefined
    if (view.getUint32(start + 4) !== SIGNATURE) return undefined
    if (view.getUint32(start - 4) !== count) continue
    return Array.from({ length: count }, (_, i) => {
      const from = start + i * DECORATED + 8
      return base64Of(bytes.subarray(from, from + SIGNATURE))
    })
  }
  return undefined
}

const ofTransaction: Derive = (members, _block, _at, text) => ({
  successful: true,
  source_account: members['account'],
  source_account_sequence: sequenceOf(text),
  fee_account: members['account'],
  fee_charged: members['fee_paid'],
  memo_type: members['memo'] === undefined ? 'none' : undefined,
  signatures: members['signatures'] === undefined ? signaturesOf(members['envelope_xdr']) : undefined,
})

/** The asset of a payment, also of one along a path, spelled as in other records. Without an issuer, XLM is the native asset. */
function paymentAsset(members: OpenRecord): Derived {
  const asset = members['asset']
  if (typeof asset?.code !== 'string') return {}
  const { code, issuer } = asset
  if (issuer === undefined && (code === 'XLM' || code === 'native')) return { asset_type: 'native' }
  return { asset_type: code.length > 4 ? 'credit_alphanum12' : 'credit_alphanum4', asset_code: code, asset_issuer: issuer }
}

const operation = catalogue.operations.of.columns
const effect = catalogue.effects.of.columns
const offer = catalogue.offer.of.columns

const ofOperation: Derive = (members, block, at) => ({
  source_account: block.side(at, operation.source),
  created_at: block.side(at, operation.created_at),
  transaction_hash: block.side(at, operation.transaction),
  transaction_successful: true,
  ...(members['sender'] !== undefined && { from: members['sender'] }),
  ...(members['receiver'] !== undefined && { to: members['receiver'] }),
  ...(/^(path_)?payment/.test(members['type']) && members['asset_type'] === undefined && paymentAsset(members)),
})

/** What each kind of record has besides its own members; nothing, if it is undefined. */
const derivations: Readonly<Record<RecordName, Derive | undefined>> = {
  transaction: ofTransaction,
  'failed transaction': ofTransaction,
  operation: ofOperation,
  effect: (_members, block, at) => ({
    id: `${String(block.id(at)).padStart(19, '0')}-${String(block.index(at)).padStart(10, '0')}`,
    created_at: block.side(at, effect.created_at),
  }),
  trade: (members) => ({
    trade_type: members['base_account'] === undefined || members['counter_account'] === undefined ? 'liquidity_pool' : 'orderbook',
  }),
  offer: (members, block, at) => ({
    last_modified_time: members['last_modified'],
    last_modified_ledger: Number(block.side(at, offer.ledger)),
  }),
  ledger: undefined,
  account: undefined,
}

/** The derived members of a record, as text to append to its own: empty, or with a leading comma. */
export function extendedText(block: Block, at: number): string {
  const derive = derivations[block.resource.name as RecordName]
  if (!derive) return ''
  const text = block.json(at)
  const members = JSON.parse(text) as OpenRecord
  let out = ''
  for (const [name, value] of Object.entries(derive(members, block, at, text)))
    if (value !== undefined && !Object.hasOwn(members, name)) out += `,${JSON.stringify(name)}:${JSON.stringify(value)}`
  return out
}
