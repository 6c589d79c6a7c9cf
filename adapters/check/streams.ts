/**
 * Laws of event streams. What they give is compared with the pages of their listing, which other laws look at. History is enough for that: none waits
 * for a ledger.
 */
import { parseJson, stringifyJson } from '../../src/index.ts'
import { EMPTY, type Unchecked } from './algebra.ts'
import { checkSame } from './belongs.ts'
import { Unreachable } from './client.ts'
import { FEW, type FormLaw, filledIn, type Listed, ledgerOf, recordsAt, withParams } from './document.ts'
import { type Events, eventsIn, instead, type ServedEvent } from './events.ts'
import { type Members, tokenOf } from './hal.ts'
import { isBefore } from './paged.ts'
import { checkProblem, type Refusal, strangerTo } from './problems.ts'
import { Fault } from './window.ts'

/** Why nothing is said of the streams of a service of another make: it has none, or they are nothing that could be compared. */
export class NoStream extends Error {}

/** How long a stream may be silent about what is there, and how long is listened for what must not come, at least and at most. */
const SILENCE_MS = 5000
const LISTEN_MS = [100, 1000] as const

const isStreamed = ({ place, isOurs }: Listed): boolean => !isOurs || place?.query.live === true
const isOfOurs = (at: Listed): boolean => at.isOurs && isStreamed(at)

interface From {
  readonly cursor?: string
  readonly lastId?: string
}

interface Opened {
  /** How it was asked for, for messages. */
  readonly said: string
  readonly events: Events
  readonly headers: Headers
}

/** @throws Fault if it is refused; NoStream, where that is no fault */
async function open({ client, url, isOurs }: Listed, { cursor = '', lastId = '' }: From): Promise<Opened> {
  // With us, a limit is no end of a stream.
  const asked = withParams(url, ...(cursor === '' ? [] : [['cursor', cursor] as const]), ...(isOurs ? [['limit', '1'] as const] : []))
  const said = `GET ${asked} as a stream${lastId && ` after the event ${lastId}`}`
  const begun = await client.stream(asked, SILENCE_MS, lastId === '' ? {} : { 'last-event-id': lastId }).catch((error) => {
    throw !isOurs && error instanceof Unreachable ? new NoStream(error.message) : error
  })
  if (begun.events) return { said, ...begun }
  const came = `answered ${begun.answer.status} ${begun.answer.headers.get('content-type')}`
  throw isOurs ? new Fault(`${said}: expected text/event-stream, ${came}`) : new NoStream(`${said} is ${came}`)
}

const isRecord = ({ type }: ServedEvent): boolean => type === 'message'
const isFailure = ({ type }: ServedEvent): boolean => type === 'error'

/** The record of an event; undefined if it holds none. */
function recordOf({ data }: ServedEvent): Members | undefined {
  try {
    const record = parseJson(data) as unknown
    return typeof record === 'object' && record !== null ? (record as Members) : undefined
  } catch {
    return undefined
  }
}

/**
 * Reads a stream that must begin with these records.
 * @returns the id of the last one
 * @throws Fault; NoStream, if a stream of another make gives nothing to compare
 */
async function gives(at: Listed, from: From, wanted: readonly Members[]): Promise<string> {
  const { said, events } = await open(at, from)
  try {
    const came = await events.until((all) => all.filter(isRecord).length >= wanted.length || all.some(isFailure))
    const all = eventsIn(events.text)
    const got = all.filter(isRecord).slice(0, wanted.length)
    if (!at.isOurs && (got.length === 0 || !got.every(recordOf))) throw new NoStream(`${said}: its events are no records of a page`)
    const failure = all.find(isFailure)
    const end = failure ? `and then the error ${failure.data}` : came === 'enough' ? '' : instead[came]
    for (const [n, record] of wanted.entries()) {
      if (got[n] === undefined && !at.isOurs) break
      if (got[n] === undefined) throw new Fault(`${said}: expected ${tokenOf(record)} as record ${n + 1}, got ${n} records, ${end}`)
      checkEvent(at, got[n], record, `${said}, record ${n + 1}`)
    }
    return got.at(-1)?.id ?? tokenOf(wanted[got.length - 1] ?? {})
  } finally {
    events.close()
  }
}

/** One of another make may show the same record in another form, and number its events as it likes. */
function checkEvent({ isOurs }: Listed, event: ServedEvent, wanted: Members, said: string): void {
  const record = recordOf(event)
  const token = tokenOf(wanted)
  if (record === undefined) throw new Fault(`${said}: expected ${token}, got ${event.data.slice(0, 200)}`)
  if (tokenOf(record) !== token) throw new Fault(`${said}: expected ${token}, got ${tokenOf(record)}`)
  if (!isOurs) return void checkSame(record, wanted, said, 'its page')
  if (event.id !== token) throw new Fault(`${said}: the id of ${token} is ${JSON.stringify(event.id)}`)
  const [text, page] = [stringifyJson(record), stringifyJson(wanted)]
  if (text !== page) throw new Fault(`${said}: ${token} is ${text}, and ${page} on its page`)
}

/** The oldest records: as many as fit a page and, since a stream may lose what follows all that it read at once, a few of the next one. */
async function oldestPages({ client, url, limit }: Listed): Promise<Members[]> {
  const page = await recordsAt(client, url, '', 'asc', limit)
  const cursor = page.length === limit ? tokenOf(page.at(-1)!) : ''
  return cursor === '' ? page : [...page, ...(await recordsAt(client, url, cursor, 'asc', FEW))]
}

async function sameAsPages(at: Listed): Promise<Unchecked> {
  const oldest = await oldestPages(at)
  if (oldest.length === 0) return EMPTY
  await gives(at, {}, oldest)
  const newest = await at.ends.newest()
  if (newest.length > 1) await gives(at, { cursor: tokenOf(newest[0]!) }, newest.slice(1))
  return undefined
}

async function resumes(at: Listed): Promise<Unchecked> {
  const all = await at.ends.oldest()
  if (all.length < 2) return all.length === 0 ? EMPTY : 'it holds a single record'
  let id = ''
  for (const [begin, end] of [
    [0, 1],
    [1, 3],
    [3, all.length],
  ] as const) {
    const part = all.slice(begin, end)
    // How a client says where it was, the document leaves open; we take the header, whatever the cursor.
    const from = id === '' ? {} : at.isOurs ? { cursor: 'now', lastId: id } : { cursor: id }
    if (part.length > 0) id = await gives(at, from, part)
  }
  return undefined
}

const BUFFERING = 'x-accel-buffering'

/** nginx, for which that header is meant, does not pass it on; but it says, as other proxies do, who it is. */
const isBehindProxy = (came: Headers): boolean => came.has('server') || came.has('via')

const headers: Readonly<Record<string, RegExp>> = {
  'content-type': /^text\/event-stream; ?charset=utf-8$/i,
  'cache-control': /^no-cache, ?no-transform$/,
  [BUFFERING]: /^no$/,
  'access-control-allow-origin': /^\*$/,
}
const hello = (cursor: string): string => `retry: 1000\nevent: open\ndata: "hello"\nid: ${cursor}`
/** What may follow the first hello: a record, another hello, an error. */
const frame = /^(?:data: \{.*\}\nid: [\d-]+|retry: 1000\nevent: open\ndata: "hello"\nid: [\d-]*|event: error\ndata: \{.*\})$/

async function framed(at: Listed): Promise<Unchecked> {
  const [first, ...others] = await at.ends.oldest()
  const cursor = first ? tokenOf(first) : ''
  const { said, events, headers: came } = await open(at, { cursor })
  try {
    for (const [name, wanted] of Object.entries(headers)) {
      const value = came.get(name)
      if (value === null && name === BUFFERING && isBehindProxy(came)) continue
      if (!wanted.test(value ?? '')) throw new Fault(`${said}: ${name} is ${JSON.stringify(value)}`)
    }
    await events.until((all) => all.length > Math.min(2, others.length))
    const frames = events.text.split('\n\n').slice(0, -1)
    const show = (text: string | undefined): string => (text === undefined ? 'nothing' : JSON.stringify(text.slice(0, 300)))
    if (frames[0] !== hello(cursor)) throw new Fault(`${said}: expected ${show(hello(cursor))} first, got ${show(frames[0])}`)
    const other = frames.slice(1).find((text) => !frame.test(text))
    if (other !== undefined) throw new Fault(`${said}: expected a line of data and its id, got ${show(other)}`)
  } finally {
    events.close()
  }
  return undefined
}

async function fromNow(at: Listed): Promise<Unchecked> {
  const { place, site, ends, isOurs } = at
  const newest = (await ends.newest()).at(-1)
  const token = newest && tokenOf(newest)
  if (token === undefined && !isOurs) return EMPTY
  const begun = performance.now()
  const { said, events } = await open(at, { cursor: 'now' })
  try {
    const [least, most] = LISTEN_MS
    const ms = Math.min(most, Math.max(least, 2 * (performance.now() - begun)))
    if (isOurs) {
      const came = await events.until((all) => all.length > 0)
      const { id } = eventsIn(events.text)[0] ?? {}
      if (came !== 'enough' || id === undefined) throw new Fault(`${said}: expected a hello with an id, got ${JSON.stringify(events.text)}`)
      if (token !== undefined && id === '') throw new Fault(`${said}: it begins with the oldest record`)
      if (token !== undefined && isBefore(id, token))
        throw new Fault(`${said}: it begins after ${id}, which lies before ${token}, the newest`)
      const head = place?.query.of.kept === 'log' ? await site.newest() : undefined
      if (head !== undefined && ledgerOf(id)! > head) throw new Fault(`${said}: it begins after ${id}, beyond ledger ${head}, the newest`)
    }
    await events.until((all) => all.some(isRecord), ms)
    for (const event of eventsIn(events.text).filter(isRecord)) {
      const came = tokenOf(recordOf(event) ?? {})
      if (token !== undefined && came !== '' && isBefore(token, came) === false)
        throw new Fault(`${said}: got ${came}, and ${token} was there before`)
    }
  } finally {
    events.close()
  }
  return undefined
}

/** @throws Fault unless a stream is refused so before it begins */
async function refused({ client }: Listed, asked: string, name: Refusal, field?: string): Promise<void> {
  const said = `GET ${asked} as a stream`
  const { events, answer } = await client.stream(asked, SILENCE_MS)
  events?.close()
  if (!answer) throw new Fault(`${said}: expected ${name}, and a stream began`)
  checkProblem(answer, said, name, field)
}

export const streamLaws: readonly FormLaw[] = [
  {
    name: 'a stream gives what the pages of its listing do, each record with its token as id, whatever the limit',
    concerns: isStreamed,
    check: sameAsPages,
  },
  { name: 'a stream that is cut goes on after the last record that was read', concerns: isStreamed, check: resumes },
  { name: 'a stream from now begins after the newest record', concerns: isStreamed, check: fromNow },
  { name: 'a stream begins with a hello at once, and a record is a line of data, then its id', concerns: isOfOurs, check: framed },
  {
    name: 'what a page would refuse, a stream refuses before it begins, and the order desc too',
    concerns: isOfOurs,
    async check(at) {
      const { url, place } = at
      for (const [name, value] of [
        ['cursor', 'x'],
        ['limit', '0'],
        ['order', 'desc'],
      ] as const)
        await refused(at, withParams(url, [name, value]), 'bad_request', name)
      const [unknown] = strangerTo(place?.hole) ?? []
      if (unknown !== undefined && place!.query.missing !== 'never') await refused(at, filledIn(place!, unknown), 'not_found')
      return undefined
    },
  },
  {
    name: 'a listing that is not streamed answers 406 to who wants nothing else',
    concerns: ({ isOurs, place }) => isOurs && place?.query.live === false,
    async check(at) {
      await refused(at, at.url, 'not_acceptable')
      return undefined
    },
  },
]
