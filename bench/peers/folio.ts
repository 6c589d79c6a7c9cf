/**
 * Ours: a ledger over LevelDB.
 */
import type { GeneratedClose } from '../../adapters/generate/index.ts'
import { serve } from '../../adapters/http/node/server.ts'
import { PAGE_TAIL, writePageHead } from '../../adapters/http/page.ts'
import type { Renderer } from '../../adapters/http/renderer.ts'
import { Renderers } from '../../adapters/http/renderers.ts'
import { type Body, Sink } from '../../adapters/http/sink.ts'
import { Tag } from '../../adapters/http/tag.ts'
import { level } from '../../adapters/level/index.ts'
import { catalogue, isPromise, type Ledger, openLedger, type Place, type RawPage } from '../../src/index.ts'
import { type Ask, BASE, type Contender, linkOf } from '../contender.ts'

export interface FolioOptions {
  readonly base?: string
  readonly cacheBytes?: number | undefined
}

interface Prepared {
  readonly query: any
  readonly values: any
  /** What the links of the page begin with. */
  readonly link: string
  readonly options: { cursor: string; order: 'asc' | 'desc'; limit: number }
}

export class Folio implements Contender {
  readonly ledger: Ledger
  readonly base: string
  private readonly renderer: Renderer
  private readonly sink = new Sink()
  /** A body is valid until the next one, as over HTTP until it has been sent. */
  private last: Body | undefined

  private constructor(ledger: Ledger, base: string) {
    this.ledger = ledger
    this.base = base
    this.renderer = new Renderers('document').for(base)
  }

  static async open(directory: string, { base = BASE, cacheBytes }: FolioOptions = {}): Promise<Folio> {
    return new Folio(await openLedger(level(directory), { cacheBytes }), base)
  }

  prepare(ask: Ask): Prepared {
    const { what, account, offer, hash, base, counter, cursor, order, limit } = ask
    const values = {
      ...(account !== undefined && { account }),
      ...(offer !== undefined && { offer: BigInt(offer) }),
      ...(hash !== undefined && { hash }),
      ...(base && { base }),
      ...(counter && { counter }),
    }
    return { query: catalogue[what], values, link: linkOf(ask, this.base, 'cursor='), options: { cursor: cursor ?? '', order, limit } }
  }

  private finish(): readonly Uint8Array[] {
    this.last = this.sink.finish()
    return this.last.parts
  }

  body(prepared: unknown): readonly Uint8Array[] | Promise<readonly Uint8Array[]> {
    const asked = prepared as Prepared
    this.last?.release()
    if (asked.query.kind === 'one') {
      const place = this.ledger.readOne(asked.query, asked.values)
      return isPromise(place) ? place.then((one) => this.single(one)) : this.single(place)
    }
    const page = this.ledger.read(asked.query, asked.values, asked.options)
    return isPromise(page) ? page.then((one) => this.page(asked, one)) : this.page(asked, page)
  }

  private single(place: Place): readonly Uint8Array[] {
    this.renderer.one(this.sink, place, new Tag())
    return this.finish()
  }

  private page({ link, options }: Prepared, page: RawPage): readonly Uint8Array[] {
    const { sink } = this
    const asked = { cursor: options.cursor, limit: options.limit, order: options.order }
    writePageHead(sink, link, asked, page, this.ledger.head!.oldest)
    this.renderer.page(sink, page.slices, new Tag())
    sink.ascii(PAGE_TAIL)
    return this.finish()
  }

  async records(prepared: unknown): Promise<readonly unknown[]> {
    const { query, values, options } = prepared as Prepared
    if (query.kind === 'one') return [await this.ledger.get(query, values)]
    return (await this.ledger.page(query, values, options)).records
  }

  /** Reads a page; returns its store calls, bytes, blocks and cache hits. */
  async cost(prepared: unknown): Promise<Record<string, number>> {
    const { query, values, options } = prepared as Prepared
    if (query.kind === 'one') return {}
    return { ...(await this.ledger.explain(query, values, options)).cost }
  }

  async append(close: GeneratedClose): Promise<void> {
    await this.ledger.append(close as never)
  }

  async ingest(closes: readonly GeneratedClose[], alone: boolean): Promise<void> {
    await this.ledger.ingest(closes as never, { batch: alone ? 1 : undefined })
  }

  async close(): Promise<void> {
    await this.ledger.close()
  }

  /** Scans all transactions. `records`: typed, one by one. `pages`: typed, 200 at a time. `ndjson`: the stored bytes, 200 at a time. */
  async *scan(how: string): AsyncGenerator<number> {
    const { ledger } = this
    if (how === 'records') {
      let count = 0
      for await (const _ of ledger.records(catalogue.transactions, {})) count++
      yield count
    } else if (how === 'pages') for await (const { records } of ledger.pages(catalogue.transactions, {})) yield records.length
    else for await (const { count } of ledger.ndjson(catalogue.transactions, {}, { reuse: true })) yield count
  }

  /** The stored bytes of every transaction, with its id. */
  async *texts(): AsyncGenerator<readonly [id: bigint, bytes: Uint8Array]> {
    let cursor = ''
    for (;;) {
      const page = await this.ledger.read(catalogue.transactions, {}, { cursor, limit: 200 })
      for (const { block, at } of page.records) yield [block.id(at), block.text(at)]
      if (page.ended === 'end') return
      cursor = page.next
    }
  }
}

export async function serveFolio({ ledger, base }: Folio): Promise<{ port: number; stop: () => Promise<void> }> {
  const server = await serve(ledger, { port: 0, baseUrl: base })
  return { port: server.port, stop: () => server.close() }
}
