/** The OpenAPI document: complete, and true to what is served. */
import { beforeAll, describe, expect, it } from 'vitest'
import { ownPaths } from '../../adapters/http/router.ts'
import { catalogue } from '../../src/index.ts'
import { type Ask, asker, hashOf, idOf, smallLedger } from './support.ts'

let ask: Ask
let document: any
beforeAll(async () => {
  ask = asker(await smallLedger())
  document = (await ask('/openapi.json')).body
})

/** Enough of JSON Schema for the record schemas: type, required, properties, items, $ref. */
function check(schema: any, value: any, path: string): void {
  if (schema.$ref) {
    check(resolve(schema.$ref), value, path)
    return
  }
  const type = Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer' : typeof value
  if (schema.type) expect(type, path).toBe(schema.type)
  if (schema.pattern) expect(value, path).toMatch(new RegExp(schema.pattern))
  for (const name of schema.required ?? []) expect(Object.keys(value), path).toContain(name)
  for (const [name, member] of Object.entries(schema.properties ?? {}))
    if (value[name] !== undefined) check(member, value[name], `${path}.${name}`)
  if (schema.items) for (const [i, item] of value.entries()) check(schema.items, item, `${path}[${i}]`)
}

const resolve = (ref: string): any => {
  const found = ref
    .slice(2)
    .split('/')
    .reduce((node, step) => node?.[step], document)
  expect(found, ref).toBeDefined()
  return found
}

const examples: Record<string, string> = { account: 'GALICE', hash: hashOf('a'), ledger: '1', operation: idOf(1, 1, 1), offer: '7' }
/** Where there are trades. */
const traded: typeof examples = { ...examples, hash: hashOf('b'), ledger: '2', operation: idOf(2, 1, 1) }

describe('the OpenAPI document', () => {
  it('is of version 3.1 and names the service', () => {
    expect(document.openapi).toBe('3.1.0')
    expect(document.servers).toEqual([{ url: 'http://folio.test' }])
  })

  it('has every path of the catalogue, and those of the adapter', () => {
    const expected = [...Object.values(catalogue).map(({ path }) => path), ...ownPaths]
    expect(Object.keys(document.paths).sort()).toEqual([...new Set<string>(expected)].sort())
  })

  it('declares each path parameter, gives each operation its own name, and has no dangling reference', () => {
    const ids = new Set<string>()
    for (const [path, { get }] of Object.entries<any>(document.paths)) {
      ids.add(get.operationId)
      const declared = (get.parameters ?? []).filter((one: any) => one.in === 'path').map((one: any) => one.name)
      expect(declared, path).toEqual(Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => name))
      const names = (get.parameters ?? []).map((one: any) => one.name)
      expect(new Set(names).size).toBe(names.length)
    }
    expect(ids.size).toBe(Object.keys(document.paths).length)
    const refs = JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)
    for (const [, ref] of refs) resolve(ref!)
  })

  it('describes where a stream goes on, for the lists that are streamed', () => {
    for (const query of Object.values(catalogue)) {
      const headers = document.paths[query.path].get.parameters.filter((one: any) => one.in === 'header').map((one: any) => one.name)
      expect(headers, query.path).toEqual(query.kind === 'list' && query.live ? ['Last-Event-ID'] : [])
    }
  })

  it('describes the problems of every path', async () => {
    const closed = await smallLedger()
    await closed.close()
    const asked: [path: string, target: string, ask: Ask, headers: Record<string, string>][] = [
      ['/', '/', ask, { accept: 'image/png' }],
      ['/', '/', ask, { host: '' }],
      ['/problems/{name}', '/problems/nothing', ask, {}],
      ['/problems/{name}', '/problems/%zz', ask, {}],
      ['/openapi.json', '/openapi.json', ask, { host: '' }],
      ['/health', '/health', asker(closed), {}],
    ]
    for (const [path, target, ask, headers] of asked) {
      const { status } = await ask(target, headers)
      expect(status).toBeGreaterThan(399)
      expect(Object.keys(document.paths[path].get.responses), `${path} ${status}`).toContain(String(status))
    }
  })

  it('describes what each path answers', async () => {
    for (const query of Object.values(catalogue)) {
      const named = query.path.endsWith('/trades') ? traded : examples
      const target = query.path.replace(/\{(\w+)\}/g, (_, name) => named[name]!)
      const { status, body } = await ask(target)
      expect(status, target).toBe(200)
      if (query.kind === 'list') expect(body._embedded.records.length, target).toBeGreaterThan(0)
      check(document.paths[query.path].get.responses[200].content['application/hal+json'].schema, body, target)
    }
    const problem = await ask('/ledgers?limit=x')
    check(document.components.schemas.Problem, problem.body, 'problem')
  })
})
