/** The options of a ledger, and what its calls return. */

export interface LedgerOptions {
  /**
   * The name (passphrase) of the network. The first name given is kept in the store; opening it with another one fails with STORE_NETWORK, so that
   * the ledgers of two networks never mix.
   */
  readonly network?: string | undefined
  /**
   * Bytes of memory in which to keep blocks, lists and what is made of them. Default: an eighth of the memory that the process may use, from 32 MiB
   * to 2 GiB, so 1 GiB of 8 GiB. It is allocated as history is read, not up front.
   */
  readonly cacheBytes?: number | undefined
  /**
   * How many records may wait, filed in memory only, before the posting lists in the store are brought up to date with them. That work is spread over
   * the ledgers that follow, until a quarter as many records have come; an open files all waiting records again. Default 32,768: some 200 busy
   * ledgers, at most two tenths of a second at open.
   */
  readonly fileEvery?: number | undefined
  /** How often to check the head of a store that other processes write to, in milliseconds. Default 500. */
  readonly pollMs?: number | undefined
}

export interface IngestResult {
  /** Ledgers that were new. */
  readonly appended: number
  /** Ledgers that were already held. */
  readonly known: number
  /** The newest ledger held then; undefined if there is none. */
  readonly last: number | undefined
}

/** How far history reaches. */
export interface HistoryHead {
  /** The first ledger ever appended: before `oldest`, if ledgers were pruned. */
  readonly first: number
  /** The oldest ledger held. */
  readonly oldest: number
  /** The newest ledger. */
  readonly last: number
  /** Its hash, in lower case. */
  readonly hash: string
  /** When it closed: `closed_at` of its record, in UTC, such as `2019-06-01T12:00:00Z`. */
  readonly closedAt: string
}
