/** The OpenAPI 3.1 document, derived from the catalogue: one path per row, with its parameters and filters as the rows state them. */
import { catalogue, DEFAULT_LIMIT, type List, MAX_LIMIT, type One, params, pathNames } from '../../src/index.ts'
import { type ProblemName, problems } from './problem.ts'
import { pageSchema, recordSchemas, sharedSchemas } from './schemas.ts'

const title = (name: string): string => name[0]!.toUpperCase() + name.slice(1)
const queryParameter = (name: string, { description, ...schema }: { readonly description?: string }, more?: object): object => ({
  name,
  in: 'query',
  required: false,
  ...(description && { description }),
  schema: { ...schema, ...more },
})

const pageParameters = [
  queryParameter(
    'cursor',
    { description: 'Paging token to continue after, or now. Default: from the end that order starts at.' },
    { type: 'string' },
  ),
  queryParameter(
    'limit',
    { description: 'Most records of the page.' },
    { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT },
  ),
  queryParameter('order', { description: 'asc: older records first.' }, { type: 'string', enum: ['asc', 'desc'], default: 'asc' }),
]

const streamParameter = {
  name: 'Last-Event-ID',
  in: 'header',
  required: false,
  description: 'Of an event stream: the id of the newest event received, to continue after. It counts instead of cursor.',
  schema: { type: 'string' },
}

const errors = (...names: readonly ProblemName[]): object =>
  Object.fromEntries(names.map((name) => [problems[name].status, { $ref: `#/components/responses/${name}` }]))

const answers = (schema: string, streamed: boolean): object => {
  const content = { schema: { $ref: `#/components/schemas/${schema}` } }
  const forms = { 'application/hal+json': content, 'application/json': content }
  return { description: 'OK', content: streamed ? { ...forms, 'text/event-stream': { schema: { type: 'string' } } } : forms }
}

const words = (name: string): string => title(name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`))

function get(name: string, query: One | List): object {
  const path = pathNames(query.path).map((param) => {
    const { description, ...schema } = params[param].schema
    return { name: param, in: 'path', required: true, description, schema }
  })
  const filters =
    query.kind === 'list' ? Object.entries(query.filters?.names ?? {}).map(([filter, schema]) => queryParameter(filter, schema)) : []
  const streamed = query.kind === 'list' && query.live
  const record = title(query.of.name)
  return {
    operationId: name,
    summary: words(name),
    tags: [query.of.name],
    parameters: [...path, ...filters, ...(query.kind === 'list' ? pageParameters : []), ...(streamed ? [streamParameter] : [])],
    responses: {
      200: query.kind === 'list' ? answers(`${record}Page`, streamed) : answers(record, false),
      ...errors('bad_request', 'not_found', 'not_acceptable', 'gone_before_history', 'uri_too_long', 'internal_error', 'unavailable'),
    },
  }
}

const plain = (operationId: string, summary: string, type: string, failing: readonly ProblemName[] = [], more: object = {}): object => ({
  get: {
    operationId,
    summary,
    tags: ['service'],
    responses: { 200: { description: 'OK', content: { [type]: { schema: {} } } }, ...errors(...failing) },
    ...more,
  },
})

/** The document for a service at `base`. */
export function openapi(base: string): object {
  const schemas: Record<string, object> = { ...sharedSchemas }
  for (const [name, schema] of Object.entries(recordSchemas)) {
    schemas[title(name)] = schema
    schemas[`${title(name)}Page`] = pageSchema(title(name))
  }
  const paths: Record<string, object> = { '/': plain('root', 'The link index', 'application/hal+json', ['bad_request', 'not_acceptable']) }
  for (const [name, query] of Object.entries(catalogue)) paths[query.path] = { get: get(name, query) }
  paths['/problems/{name}'] = plain('problem', 'What an error means', 'application/json', ['bad_request', 'not_found'], {
    parameters: [{ name: 'name', in: 'path', required: true, schema: { type: 'string', enum: Object.keys(problems) } }],
  })
  paths['/openapi.json'] = plain('openapi', 'This document', 'application/json', ['bad_request'])
  paths['/health'] = plain(
    'health',
    'Whether history can be read and, by the process that writes, extended (ok or poisoned), and how far it reaches',
    'application/json',
    ['unavailable'],
  )
  paths['/metrics'] = plain('metrics', 'Figures for Prometheus', 'text/plain')
  return {
    openapi: '3.1.0',
    info: { title: 'Ledger query service', version: '1.0.0', description: 'Read-only access to the history of a ledger network.' },
    servers: [{ url: base }],
    paths,
    components: {
      schemas,
      responses: Object.fromEntries(
        Object.entries(problems).map(([name, { title: description }]) => [
          name,
          { description, content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } } },
        ]),
      ),
    },
  }
}
