/**
 * The one place where event streams are answered. Until they are served, a client that will take nothing else is told so.
 */
import type { List } from '../../src/index.ts'
import type { Renderer } from './hal.ts'
import type { CoreRequest, CoreResponse } from './handler.ts'
import { ProblemError } from './problem.ts'

/** A stream as it was asked for: everything checked, nothing read. */
export interface StreamRequest {
  readonly request: CoreRequest
  readonly query: List<any, any, true>
  /** Path parameters and filters. */
  readonly values: Readonly<Record<string, unknown>>
  /** `Last-Event-ID`, or else `cursor`; empty for the earliest record. */
  readonly cursor: string
  readonly renderer: Renderer
}

/** @throws ProblemError before anything is sent */
export function stream(_request: StreamRequest): CoreResponse {
  throw new ProblemError({
    name: 'not_acceptable',
    detail: 'Streaming is not served yet. Ask for application/hal+json, and page with next.',
  })
}
