/**
 * Every error the library throws: one table, one class. Each code has a fixed sentence; what varies is in `fields`, and is appended to the message.
 */

/**
 * `status` is the HTTP status, and says who can fix the error: below 500 the caller or whoever supplies the input, from 500 on whoever runs the
 * store.
 */
interface Row {
  readonly status: number
  readonly sentence: string
  /** The names that `fields` may hold, and what they mean. An error has those that are known where it is thrown. */
  readonly fields: Readonly<Record<string, string>>
  /** Present if the same call is worth retrying unchanged: what must have happened first. */
  readonly retry?: string
  /** Present with `retry`: what the caller does before that. */
  readonly recovery?: 'wait' | 'reopen'
}

const reopened = { retry: 'the ledger has been reopened', recovery: 'reopen' } as const
const line = { file: 'of `readCloses`: the file that the close was read from', line: 'of `readCloses`: its line, from 1' }
const close = { ledger: 'its sequence, if known', path: 'the member, such as `transactions[3].operations[0].amount`' }
const store = { location: 'the store: its path or name' }
const reason = 'what the store or the system said'
const format = { ...store, found: 'what the store has', expected: 'what this release or this call asks for' }

export const errorTable = {
  BAD_REQUEST: {
    status: 400,
    sentence: 'A parameter is malformed or out of range.',
    fields: { field: 'the parameter, value or option', reason: 'what it must be', found: 'what was given, if known' },
  },
  NOT_FOUND: {
    status: 404,
    sentence: 'Nothing in this history matches the request.',
    fields: { what: 'the parameter that matches nothing', value: 'what it was' },
  },
  GONE_BEFORE_HISTORY: {
    status: 410,
    sentence: 'The request reaches below the oldest ledger held.',
    fields: {
      ledger: 'the ledger asked for',
      cursor: 'or the cursor',
      oldest: 'the oldest ledger held',
      reason: 'of `rollback`, streams and walks: what happened, and what can be done',
    },
  },

  MALFORMED_JSON: {
    status: 400,
    sentence: 'The input is not well-formed JSON. Fix or remove the line; nothing from it was stored.',
    fields: { file: 'as given; `-` for a stream', line: 'from 1', column: 'from 1, where known', reason: 'what is wrong with it' },
  },
  INVALID_INPUT: {
    status: 400,
    sentence: 'A member of the ledger close is missing or wrong. Nothing of that ledger was stored.',
    fields: { ...close, expected: 'what it must be', ...line },
  },
  ID_OUT_OF_RANGE: {
    status: 400,
    sentence: 'An id does not fit its bits: ledger 31, transaction 20, operation 12. Nothing of that ledger was stored.',
    fields: { ledger: 'its number', transaction: 'its number in the ledger', operation: 'its number in the transaction', ...line },
  },
  LEDGER_GAP: {
    status: 409,
    sentence:
      'The ledger does not follow the newest one held. Append the missing ledgers first. Nothing can be added below the oldest ledger held: to hold earlier ledgers, ingest them into a new store.',
    fields: {
      sequence: 'that of the ledger given',
      expected: 'the one that follows',
      oldest: 'the oldest held, where it lies below',
      target: 'of `folio copy`: the store that is copied into',
      reason: 'what to do about it: below the oldest held, and of `folio copy`',
      ...line,
    },
  },
  LEDGER_FORK: {
    status: 409,
    sentence:
      'A different ledger is already held under this sequence. If the held history is the wrong one, roll back below it and append again.',
    fields: { sequence: 'that of the ledger', held: 'the hash held', given: 'the hash given', ...line },
  },
  PREV_HASH_MISMATCH: {
    status: 409,
    sentence: 'prev_hash is not the hash of the newest ledger held. This close belongs to another chain.',
    fields: { sequence: 'that of the ledger', held: 'the hash of the newest ledger', given: 'prev_hash', ...line },
  },
  DUPLICATE_TRANSACTION: {
    status: 409,
    sentence: 'A transaction with this hash is already held. Nothing of the ledger was stored.',
    fields: { ...close, hash: 'the hash', ...line },
  },

  ROLLED_BACK: {
    status: 503,
    sentence: 'History was rolled back below what was delivered. Discard everything after the ledger named, and go on from there.',
    fields: { last: 'the newest ledger left', reached: 'the newest ledger delivered' },
  },
  CLOSED: {
    status: 503,
    sentence: 'The ledger is closed. Open it again to continue.',
    fields: { ...store, store: 'or its kind' },
    ...reopened,
  },
  POISONED: {
    status: 503,
    sentence:
      'An earlier write failed, so what the store holds is uncertain. Reads still work; close and reopen the ledger to write again.',
    fields: store,
    ...reopened,
  },
  CONFLICT: {
    status: 503,
    sentence: 'Another writer has moved the head of this store. Run only one writer; reopen the ledger to continue as that writer.',
    fields: {
      ...store,
      store: 'or its kind',
      reason: 'of `verify`: why what it found may be no fault; of `copyStore`: what can be done',
    },
    ...reopened,
  },
  STORE_LOCKED: {
    status: 503,
    sentence: 'The store is open elsewhere, in this process or another. Close the other holder, or read through it over HTTP.',
    fields: store,
    retry: 'the other holder has closed',
    recovery: 'wait',
  },
  STORE_DENIED: {
    status: 503,
    sentence:
      'No permission to read or write the store. Check that the directory exists, its owner and its permissions. Reading needs permission to write there too, for the lock.',
    fields: { ...store, reason },
  },
  STORE_MISSING: {
    status: 503,
    sentence: 'There is no ledger store here. Check the path: a store is a directory, which the first ingest makes.',
    fields: { ...store, reason: 'why there can be none, if a file is in the way; or what became of a directory that was open' },
  },
  STORE_FAILED: {
    status: 503,
    sentence: 'The store failed. See the cause; if the disk is full or failing, fix that and reopen.',
    fields: { ...store, reason },
    retry: 'the store has recovered and, for writes, the ledger has been reopened',
    recovery: 'wait',
  },
  STORE_FORMAT: {
    status: 500,
    sentence:
      'The store was written in another format version, or holds entries of something else. Open it with the release that wrote it, or ingest again into a new store.',
    fields: format,
  },
  STORE_CATALOGUE: {
    status: 500,
    sentence: 'The store was written with another set of resources and indexes. Ingest again into a new store.',
    fields: format,
  },
  STORE_NETWORK: {
    status: 500,
    sentence: 'The store holds ledgers of another network. Check the path and the name of the network.',
    fields: format,
  },
  STORE_WENT_BACK: {
    status: 500,
    sentence:
      'The store once held newer or different ledgers than it does now: its files are outdated, truncated or lost. Restore a complete copy; or run folio repair to continue with what is there, and ingest what is missing.',
    fields: {
      ...store,
      noted: 'the ledger, or its hash, that was held',
      held: 'the one held now',
      ledger: 'the ledger whose hash is another',
    },
  },
  STORE_UNREPAIRED: {
    status: 503,
    sentence:
      'A repair of this store was begun but not finished. Run folio repair again; it continues where it stopped. If it cannot save the head, add --cut.',
    fields: store,
  },
  STORE_INCOMPLETE: {
    status: 503,
    sentence: 'A copy into this store was begun but not finished, so it lacks values. Copy into it again, which begins anew; or delete it.',
    fields: store,
  },
  STORE_MISUSE: {
    status: 500,
    sentence: 'The store contract was broken by its caller.',
    fields: {
      argument: 'of `copyStore`: which of the two is wrong',
      found: 'the type of what was given',
      missing: 'the methods and capabilities that it lacks',
      expected: 'what it must be',
      reason: 'which law of the contract',
    },
  },
  CORRUPT: {
    status: 500,
    sentence:
      'A stored value, or a file of the store, is damaged or missing. Run folio verify to see which, and folio repair to save and rebuild what can be; fetch the rest from a copy, or ingest it again.',
    fields: {
      key: 'of the value, in hexadecimal',
      ...store,
      file: 'the file of it',
      at: 'where in the file',
      reason: 'what is wrong with it',
    },
  },
} as const satisfies Record<string, Row>

export type ErrorCode = keyof typeof errorTable

/**
 * What varies in an error: names and values of the thing at fault; {@link errorTable} lists those that each code may have. Never secrets; paths only
 * of the caller's own store.
 */
export type ErrorFields = Readonly<Record<string, string | number | bigint | boolean | undefined>>

/** How many frames a stack has at least, unless fewer than the usual ten are asked for: of a read, a dozen lie here before that of whoever asked. */
const FRAMES = 25

/** Where errors are frozen, a stack has as many frames as it has. */
const keepFrames = (count: number): boolean => Reflect.set(Error, 'stackTraceLimit', count)

/** The only error class of the library. Switch on `code`; `fields` says what is at fault and where, `message` also what to do. */
export class FolioError extends Error {
  readonly code: ErrorCode
  readonly fields: ErrorFields

  constructor(code: ErrorCode, fields: ErrorFields = {}, cause?: unknown) {
    const said = Object.entries(fields).filter(([, value]) => value !== undefined)
    const detail = said.map(([name, value]) => `${name}: ${value}`).join(', ')
    const message = errorTable[code].sentence + (detail && ` (${detail})`)
    const limit = Error.stackTraceLimit
    const isRaised = limit >= 10 && limit < FRAMES
    if (isRaised) keepFrames(FRAMES)
    super(message, cause === undefined ? undefined : { cause })
    if (isRaised) keepFrames(limit)
    this.name = 'FolioError'
    this.code = code
    this.fields = fields
  }

  /** The HTTP status that this error answers with. */
  get status(): number {
    return errorTable[this.code].status
  }

  /** True if the same call is worth retrying unchanged, after what {@link recovery} says. Called again at once, it may fail for ever. */
  get retry(): boolean {
    return this.recovery !== undefined
  }

  /**
   * What lets the same call succeed: `'wait'`, since it may later, once the other holder has closed or the store has recovered; `'reopen'`, since it
   * never will before the ledger was closed and opened again. Undefined if neither helps.
   */
  get recovery(): 'wait' | 'reopen' | undefined {
    const row: Row = errorTable[this.code]
    return row.recovery
  }
}

/** The same in every copy of this package. */
const BRAND = Symbol.for('ledger-folio.FolioError')
Object.defineProperty(FolioError.prototype, BRAND, { value: true })

const isInstance = Function.prototype[Symbol.hasInstance]
// Where a bundler loads this package several times, errors of one copy are met by another.
Object.defineProperty(FolioError, Symbol.hasInstance, {
  value(this: unknown, value: unknown): boolean {
    return this === FolioError ? typeof value === 'object' && value !== null && BRAND in value : isInstance.call(this as never, value)
  },
})

/** Whether what was thrown is an error of ours with this code. */
export const hasCode = (error: unknown, code: ErrorCode): error is FolioError => error instanceof FolioError && error.code === code

/** A member of a ledger close is at fault, at `path` (`transactions[3].operations[0].amount`). */
export const invalidInput = (ledger: number | undefined, path: string, expected: string): FolioError =>
  new FolioError('INVALID_INPUT', { ledger, path, expected })
