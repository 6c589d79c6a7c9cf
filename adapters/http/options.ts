/** What a service is given, checked at the call: without a real ledger, it would answer every request with an internal error. */
import { badRequest, isPromise, type Ledger, OptionRules, type Rules } from '../../src/index.ts'
import { isBaseUrl } from './base.ts'
import { type Profile, profiles } from './extended.ts'
import { type CoreLimits, coreLimitRules } from './limits.ts'

export interface CoreOptions extends CoreLimits {
  /** The base of all links. Default: scheme and host of each request. Set it if clients may send any Host. */
  readonly baseUrl?: string | undefined
  /** Believe `X-Forwarded-Proto` and `X-Forwarded-Host`. Only behind a proxy that sets them. Default false. */
  readonly trustProxy?: boolean | undefined
  /** Which members records have. Default `document`. */
  readonly profile?: Profile | undefined
  /**
   * Called with the error behind an `internal_error` or `unavailable` answer, and with the errors of a server that listens. Default: `console.error`.
   */
  readonly log?: ((error: unknown, about: { readonly id: string; readonly method: string; readonly target: string }) => void) | undefined
}

export type Log = NonNullable<CoreOptions['log']>

/** The log of a service. */
export function logOf({ log = toConsole }: CoreOptions): Log {
  return (error, about) => {
    try {
      log(error, about)
    } catch {
      // A log that fails must not cost the answer.
    }
  }
}

const toConsole: Log = (error, { id, method, target }) => console.error('%s %s %s', id, method, target, error)

export const coreRules: Rules<CoreOptions> = {
  baseUrl: { expected: 'an absolute http or https URL without query', fits: isBaseUrl },
  trustProxy: 'flag',
  profile: profiles,
  log: 'callback',
  ...coreLimitRules,
}

export const coreOptions = new OptionRules<CoreOptions>('createCore', coreRules)

/**
 * Checks that there is a ledger, and the options, whatever the types said: a limit or a base URL under another name would have no effect.
 * @returns the options, copied
 * @throws BAD_REQUEST naming what is at fault, and what was found instead
 */
export function checkGiven<T extends object>(ledger: Ledger, options: T, rules: OptionRules<T>): T {
  if (!isLedger(ledger)) throw badRequest('ledger', 'a ledger, such as openLedger gives', nameOf(ledger))
  if (typeof options !== 'object' || options === null) throw badRequest('options', 'an object', nameOf(options))
  return rules.check(options)
}

const isLedger = (given: Partial<Ledger> | null | undefined): boolean =>
  typeof given?.readListing === 'function' && typeof given.readOne === 'function'

function nameOf(given: unknown): string {
  if (given === null || given === undefined) return String(given)
  if (isPromise(given)) return 'a promise; await it first'
  if (typeof (given as { scan?: unknown }).scan === 'function') return 'a store; open it with openLedger first'
  return typeof given
}
