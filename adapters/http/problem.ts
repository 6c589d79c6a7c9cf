/**
 * Errors on the wire: problem details (RFC 9457). `type` is the relative reference `/problems/<name>`, which the adapter serves.
 * **Invariant:** a body never reveals internals: store errors and defects are logged under an id, and only that id is shown.
 */
import { FolioError, utf8 } from '../../src/index.ts'

interface Row {
  readonly status: number
  readonly title: string
  readonly detail: string
}

export const problems = {
  bad_request: { status: 400, title: 'Bad request', detail: 'A parameter is malformed or out of range; extras.invalid_field names it.' },
  not_found: { status: 404, title: 'Not found', detail: 'Nothing in this history matches the request.' },
  method_not_allowed: { status: 405, title: 'Method not allowed', detail: 'Everything here is read with GET, HEAD and OPTIONS.' },
  not_acceptable: {
    status: 406,
    title: 'Not acceptable',
    detail:
      'The Accept header allows nothing that this path can answer: application/hal+json, application/json, and text/event-stream on listings that are streamed.',
  },
  request_timeout: { status: 408, title: 'Request timeout', detail: 'The request did not arrive in time.' },
  gone_before_history: {
    status: 410,
    title: 'Gone before history',
    detail: 'The request lies below the oldest ledger that is held; extras.oldest_ledger names that.',
  },
  uri_too_long: { status: 414, title: 'URI too long', detail: 'The request target is longer than this server reads.' },
  expectation_failed: { status: 417, title: 'Expectation failed', detail: 'The Expect header asks for what this server does not do.' },
  too_many_requests: { status: 429, title: 'Too many requests', detail: 'Slow down, and try again after the time that Retry-After names.' },
  header_fields_too_large: { status: 431, title: 'Header fields too large', detail: 'The header is longer than this server reads.' },
  internal_error: { status: 500, title: 'Internal error', detail: 'A defect of this service, logged under extras.id.' },
  unavailable: {
    status: 503,
    title: 'Unavailable',
    detail: 'The history cannot be read just now. Try again after the time that Retry-After names.',
  },
} as const satisfies Record<string, Row>

export type ProblemName = keyof typeof problems

export interface Problem {
  readonly name: ProblemName
  /** About this occurrence. Default: the sentence of the table. */
  readonly detail?: string
  readonly extras?: Readonly<Record<string, string | number>>
}

/** The body of a problem response. */
export const problemBody = ({ name, detail, extras = {} }: Problem): Uint8Array => {
  const { status, title } = problems[name]
  return utf8(JSON.stringify({ type: `/problems/${name}`, title, status, detail: detail ?? problems[name].detail, extras }))
}

/** What `/problems/{name}` says; undefined if there is no such problem. */
export const problemPage = (name: string): object | undefined =>
  Object.hasOwn(problems, name) ? { type: `/problems/${name}`, ...problems[name as ProblemName] } : undefined

/** A parameter is at fault. */
export const badParameter = (field: string, reason: string): Problem => ({
  name: 'bad_request',
  detail: `${field}: expected ${reason}.`,
  extras: { invalid_field: field, reason },
})

/**
 * The problem with which an error of the library, or a defect, is answered.
 * @param log receives what the body must not show; its id is in the body
 */
export function problemOf(error: unknown, log: (error: unknown, id: string) => void): Problem {
  if (error instanceof ProblemError) return error.problem
  const code = error instanceof FolioError ? error.code : undefined
  const { fields = {} } = error instanceof FolioError ? error : {}
  if (code === 'BAD_REQUEST') return badParameter(String(fields['field']), String(fields['reason']))
  if (code === 'NOT_FOUND') {
    const { what, value } = fields
    return what === undefined ? { name: 'not_found' } : { name: 'not_found', detail: `Nothing matches ${what} ${value}.` }
  }
  if (code === 'GONE_BEFORE_HISTORY')
    return { name: 'gone_before_history', extras: fields['oldest'] === undefined ? {} : { oldest_ledger: Number(fields['oldest']) } }
  if (code === 'ROLLED_BACK')
    return {
      name: 'unavailable',
      detail: 'History was taken back below what was sent. Start again.',
      extras: { last_ledger: Number(fields['last']) },
    }
  if (code === 'CLOSED') return { name: 'unavailable' }
  const id = globalThis.crypto.randomUUID()
  log(error, id)
  const away = error instanceof FolioError && error.status === 503
  return { name: away ? 'unavailable' : 'internal_error', extras: { id } }
}

/** A problem on its way to the one place that answers with it. */
export class ProblemError extends Error {
  readonly problem: Problem
  constructor(problem: Problem) {
    super(problem.name)
    this.problem = problem
  }
}
