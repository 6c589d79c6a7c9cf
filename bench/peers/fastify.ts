/**
 * The peers over HTTP: Fastify in front of the fastest variant of an SQL database.
 */
import fastify, { type Reply } from 'fastify'
import type { Ask, AssetName, Contender, ListName } from '../contender.ts'

const TYPE = 'application/hal+json; charset=utf-8'

const PATHS: Readonly<Record<ListName, string>> = {
  transactions: '/transactions',
  operations: '/operations',
  effects: '/effects',
  trades: '/trades',
  transactionsOfAccount: '/accounts/:account/transactions',
  operationsOfAccount: '/accounts/:account/operations',
  paymentsOfAccount: '/accounts/:account/payments',
  effectsOfAccount: '/accounts/:account/effects',
  tradesOfAccount: '/accounts/:account/trades',
  tradesOfOffer: '/offers/:offer/trades',
}

type Query = Readonly<Record<string, string | undefined>>

function side(query: Query, name: string): AssetName | undefined {
  const type = query[`${name}_asset_type`] as AssetName['type'] | undefined
  if (type === undefined) return undefined
  const [code, issuer] = [query[`${name}_asset_code`], query[`${name}_asset_issuer`]]
  return { type, ...(code !== undefined && { code }), ...(issuer !== undefined && { issuer }) }
}

export async function serveFastify(contender: Contender): Promise<{ port: number; stop: () => Promise<void> }> {
  const app = fastify({ logger: false })
  const answer = (ask: Ask, reply: Reply): unknown => {
    const send = (parts: readonly Uint8Array[]): unknown =>
      reply.header('content-type', TYPE).header('access-control-allow-origin', '*').send(Buffer.concat(parts))
    const parts = contender.body(contender.prepare(ask))
    return parts instanceof Promise ? parts.then(send) : send(parts)
  }
  for (const [what, path] of Object.entries(PATHS))
    app.get(path, ({ params, query }, reply) => {
      const { cursor, order = 'asc', limit = '10' } = query
      const [base, counter] = what === 'trades' ? [side(query, 'base'), side(query, 'counter')] : []
      const ask: Ask = {
        what: what as ListName,
        ...params,
        ...(base && { base }),
        ...(counter && { counter }),
        ...(cursor && { cursor }),
        order: order as Ask['order'],
        limit: Number(limit),
      }
      return answer(ask, reply)
    })
  app.get('/transactions/:hash', ({ params }, reply) =>
    answer({ what: 'transaction', hash: params['hash']!, order: 'asc', limit: 1 }, reply),
  )
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return { port: Number(new URL(url).port), stop: () => app.close() }
}
