/** Laws of answers as such: their headers and their form, whatever they hold. */
import { EMPTY } from './algebra.ts'
import type { Answer, Client } from './client.ts'
import { type AnswerLaw, type FormLaw, type Listed, ledgerOf, recordAt, recordsOf } from './document.ts'
import { paged, recordsIn, targetOf, tokenOf } from './hal.ts'
import { textOf } from './paged.ts'
import { checkProblem, noProblem } from './problems.ts'
import { Fault } from './window.ts'

const FOR_GOOD = 'public, max-age=31536000, immutable'
const ASK_AGAIN = 'no-cache'

const typeOf = ({ headers }: Answer): string => (headers.get('content-type') ?? 'none').toLowerCase()
const isHal = (answer: Answer): boolean => /^application\/hal\+json; ?charset=utf-8$/.test(typeOf(answer))

/** Whether an answer is a page or a record, not what a service says of itself. */
const isHistory = (url: string, { status, body }: Answer): boolean =>
  status === 200 && (recordsIn(body) !== undefined || (recordAt(url) !== undefined && body?._links !== undefined))

/** White space outside strings. */
const isSpread = (text: string): boolean => /\s/.test(text.trimEnd().replace(/"(?:[^"\\]|\\.)*"/g, ''))

export const answerLaws: readonly AnswerLaw[] = [
  {
    name: 'every answer may be read by any origin, refusals too',
    judge(_, __, { headers }) {
      const origin = headers.get('access-control-allow-origin')
      return origin === '*' || `access-control-allow-origin is ${JSON.stringify(origin)}, not "*"`
    },
  },
  {
    name: 'every answer says what it is: compact HAL, or a problem',
    judge(url, accept, answer) {
      // A proxy may have answered in place of a service that fails.
      if (answer.status >= 500) return false
      if (answer.status >= 400) {
        // A refusal of HEAD has no body to look at.
        const wrong = answer.text === '' && typeOf(answer).startsWith('application/problem+json') ? undefined : noProblem(answer)
        return wrong === undefined || `the answer ${wrong}`
      }
      if (!isHistory(url, answer) || accept !== undefined) return false
      if (!isHal(answer)) return `is of the type ${typeOf(answer)}, not application/hal+json; charset=utf-8`
      return !isSpread(answer.text) || 'is not compact: there is white space between its members'
    },
  },
  {
    name: 'every page and every record has a tag, and says whether it may be kept',
    judge(url, _, answer) {
      if (!isHistory(url, answer)) return false
      const [tag, kept] = ['etag', 'cache-control'].map((name) => answer.headers.get(name))
      if (!/^(?:W\/)?"[\x21\x23-\x7e]*"$/.test(tag ?? '')) return `etag is ${JSON.stringify(tag)}`
      if (kept !== FOR_GOOD && kept !== ASK_AGAIN)
        return `cache-control is ${JSON.stringify(kept)}, neither "${FOR_GOOD}" nor "${ASK_AGAIN}"`
      const records = recordsIn(answer.body)
      if (!records || kept === ASK_AGAIN) return true
      const { searchParams } = new URL(url)
      if (searchParams.get('order') === 'desc') return 'is kept for good, and descends from what comes next'
      const limit = Number(searchParams.get('limit') || 10)
      return records.length === limit || `is kept for good with ${records.length} of ${limit} records`
    },
  },
]

/** Tags are compared as a cache does: a proxy that compresses makes that of a body weak, and leaves that of an answer without one as it was. */
const opaque = (tag: string | null): string | undefined => tag?.replace(/^W\//, '')

async function checkKept(client: Client, url: string, wanted: string, why: string): Promise<Answer> {
  const answer = await client.get(url)
  const kept = answer.headers.get('cache-control')
  if (answer.status === 200 && kept !== wanted)
    throw new Fault(`GET ${url}: cache-control is ${JSON.stringify(kept)}, not "${wanted}", ${why}`)
  return answer
}

/** Pages and records of closed ledgers, and those of the newest one. */
async function checkKeeping({ client, url, place, site, ends }: Listed): Promise<void> {
  const page = (cursor: string, order: 'asc' | 'desc', limit: number): string => paged(url, cursor, order, limit)
  await checkKept(client, page('', 'desc', 1), ASK_AGAIN, 'and it descends')
  if (place?.query.of.kept !== 'log') return void (await checkKept(client, page('', 'asc', 1), ASK_AGAIN, 'and it lists what is there now'))
  const [first, second] = await ends.oldest()
  const head = await site.newest()
  if (first === undefined || head === undefined) return
  const isClosed = (token: string): boolean => (ledgerOf(token) ?? head) < head
  if (second && isClosed(tokenOf(second)))
    await checkKept(client, page(tokenOf(first), 'asc', 1), FOR_GOOD, `and ends before ledger ${head}`)
  const [before, last] = (await ends.newest()).slice(-2).map(tokenOf)
  if (last !== undefined && ledgerOf(last) === head) {
    const upmost = page(before!, 'asc', 1)
    const { headers, body } = await client.get(upmost)
    // A page that ends in the newest ledger may go on there; once another has followed, it may not.
    if (headers.get('cache-control') === FOR_GOOD && recordsIn(body)?.[0] && (await site.newest()) === head)
      throw new Fault(`GET ${upmost}: is kept for good, and ends in ledger ${head}, the newest`)
  }
  const self = targetOf(first['_links']?.self, url)
  const single = self === undefined ? undefined : recordAt(self)
  if (single?.query.of.kept === 'log' && isClosed(tokenOf(first)))
    await checkKept(client, self!, FOR_GOOD, `and ledger ${head} has followed`)
}

async function checkTag({ client, url }: Listed): Promise<void> {
  const asked = paged(url, '', 'asc', 1)
  const tag = (await client.get(asked)).headers.get('etag')
  if (tag === null) return
  const given = async (value: string, wanted: 200 | 304): Promise<void> => {
    const said = `GET ${asked} with if-none-match: ${value}`
    const { status, headers, text } = await client.get(asked, { headers: { 'if-none-match': value } })
    if (status === wanted) {
      if (status === 304 && text !== '') throw new Fault(`${said}: a body came with the status 304`)
      // Without it, a cache does not know which of what it keeps was meant.
      if (status === 304 && opaque(headers.get('etag')) !== opaque(tag))
        throw new Fault(`${said}: etag is ${JSON.stringify(headers.get('etag'))} of the answer 304, not ${tag}`)
    } else if (status !== 200 || opaque(headers.get('etag')) === opaque(tag))
      throw new Fault(`${said}: expected ${wanted}, answered ${status}`)
  }
  await given(tag, 304)
  await given('"folio"', 200)
}

export const formLaws: readonly FormLaw[] = [
  {
    name: 'what can never change is kept for good, and nothing else is; a tag that is known is answered 304',
    concerns: ({ place }) => place !== undefined,
    async check(at) {
      await checkKeeping(at)
      await checkTag(at)
      return undefined
    },
  },
  {
    name: 'HEAD is answered as GET is, without a body',
    concerns: () => true,
    async check({ client, url }) {
      const asked = paged(url, '', 'asc', 1)
      const headers = ['content-type', 'cache-control', 'access-control-allow-origin']
      const shown = ({ status, headers: came }: Answer): string =>
        [status, `etag: ${opaque(came.get('etag'))}`, ...headers.map((name) => `${name}: ${came.get(name)}`)].join(', ')
      const got = shown(await client.get(asked))
      const head = await client.get(asked, { method: 'HEAD' })
      if (head.text !== '') throw new Fault(`HEAD ${asked}: ${head.text.length} characters of a body`)
      if (shown(head) === got) return undefined
      if (shown(await client.get(asked)) !== got) return 'its first page changes all the time'
      throw new Fault(`HEAD ${asked}: ${shown(head)}; GET: ${got}`)
    },
  },
  {
    name: 'what Accept prefers is what comes, and what it rules out is 406',
    concerns: ({ place }) => place !== undefined,
    async check({ client, url, ends }) {
      const asked = paged(url, '', 'asc', 1)
      const said = (accept: string): string => `GET ${asked} with accept: ${accept}`
      const gives = async (accept: string, type: string): Promise<Answer> => {
        const answer = await client.get(asked, { headers: { accept } })
        if (answer.status !== 200 || !typeOf(answer).startsWith(type))
          throw new Fault(`${said(accept)}: expected ${type}, answered ${answer.status} ${typeOf(answer)}`)
        // Without it, a cache would give this form to whoever wants another.
        const vary = answer.headers.get('vary')
        if (!/(?:^|,)\s*(?:accept|\*)\s*(?:,|$)/i.test(vary ?? ''))
          throw new Fault(`${said(accept)}: vary is ${JSON.stringify(vary)}, which does not name accept`)
        return answer
      }
      await gives('application/json;q=0.5, application/hal+json', 'application/hal+json')
      const came = recordsOf(await gives('text/event-stream;q=0.1, application/json;q=0.9', 'application/json'), asked)
      const wanted = (await ends.oldest()).slice(0, 1)
      if (wanted.length > 0 && textOf(came) !== textOf(wanted))
        throw new Fault(`${said('application/json')}: ${textOf(came)}, and ${textOf(wanted)} as HAL`)
      checkProblem(await client.get(asked, { headers: { accept: 'text/html' } }), said('text/html'), 'not_acceptable')
      return undefined
    },
  },
  {
    name: 'a slash at the end of a path makes no difference',
    concerns: ({ place }) => place !== undefined,
    async check({ client, url, ends }) {
      const slashed = new URL(paged(url, '', 'asc', 2))
      slashed.pathname = slashed.pathname.endsWith('/') ? slashed.pathname.slice(0, -1) : `${slashed.pathname}/`
      const records = (await ends.oldest()).slice(0, 2)
      if (records.length === 0) return EMPTY
      const answer = await client.get(slashed.href)
      const came = recordsOf(answer, slashed.href)
      if (textOf(came.slice(0, records.length)) !== textOf(records))
        throw new Fault(`GET ${slashed.href}: expected ${textOf(records.map(tokenOf))}, got ${textOf(came.map(tokenOf))}`)
      return undefined
    },
  },
]
