/** Our own service, spoilt in its event streams: its pages are as they should be. */
import { streamLaws } from '../../adapters/check/streams.ts'
import { type Asked, answered, asking, changed, type FormFault } from './faulty-answers.ts'
import type { Service } from './faulty-services.ts'

type Names = [string, string, string, string, string, string]
const [SAME, RESUMED, NOW, FRAMES, REFUSED, UNSTREAMED] = streamLaws.map(({ name }) => name) as Names

const wantsStream = ({ headers }: Asked): boolean => headers.get('accept') === 'text/event-stream'
const lastId = ({ headers }: Asked): string | null => headers.get('last-event-id')
const fromNow = (asked: Asked): boolean => asked.param('cursor') === 'now' && lastId(asked) === null
const isStream = ({ headers }: Response): boolean => headers.get('content-type')?.startsWith('text/event-stream') === true
const isRecord = (frame: string): boolean => frame.startsWith('data: {')

/** What becomes of a frame: other frames, or the end of the stream. `n` counts the records before it. */
type Change = (frame: string, n: number, asked: Asked) => readonly string[] | 'end'

/** Changes streams frame by frame, and their headers. */
const frames = (change: Change, head: (headers: Headers) => void = () => {}): FormFault[2] =>
  answered((response, asked) => {
    if (!isStream(response)) return undefined
    const headers = new Headers(response.headers)
    head(headers)
    const decoder = new TextDecoder()
    let [text, n] = ['', 0]
    const spoil = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        const whole = (text + decoder.decode(chunk, { stream: true })).split('\n\n')
        text = whole.pop()!
        for (const frame of whole) {
          const others = change(frame, n, asked)
          if (others === 'end') return controller.terminate()
          if (isRecord(frame)) n++
          for (const other of others) controller.enqueue(new TextEncoder().encode(`${other}\n\n`))
        }
      },
    })
    return new Response(response.body!.pipeThrough(spoil), { headers })
  })

/** Changes records alone. */
const records = (change: Change): FormFault[2] => frames((frame, n, asked) => (isRecord(frame) ? change(frame, n, asked) : [frame]))
/** Changes what greets alone. */
const hellos = (change: (frame: string, asked: Asked) => string): FormFault[2] =>
  frames((frame, _, asked) => [isRecord(frame) ? frame : change(frame, asked)])
const headed = (change: (headers: Headers) => void): FormFault[2] => frames((frame) => [frame], change)

/** Adds a record of which nothing is known but its token, after the hello. */
const preceded = (token: (asked: Asked) => string | null): FormFault[2] =>
  frames((frame, _, asked) => {
    const id = token(asked)
    return isRecord(frame) || id === null ? [frame] : [frame, `data: {"paging_token":"${id}"}\nid: ${id}`]
  })

const page = ({ url, headers }: Asked, service: Service): Promise<Response> =>
  service(url.href, { headers: { ...Object.fromEntries(headers), accept: 'application/hal+json' } })

export const faultyEvents: readonly FormFault[] = [
  [SAME, 'ends a stream at its limit', records((frame, n, { param }) => (n < Number(param('limit') ?? 10) ? [frame] : 'end'))],
  [SAME, 'leaves out the record after a page of the largest limit that is asked for', records((frame, n) => (n === 20 ? [] : [frame]))],
  [SAME, 'leaves a record out', records((frame, n) => (n === 1 ? [] : [frame]))],
  [SAME, 'gives a record twice', records((frame, n) => (n === 1 ? [frame, frame] : [frame]))],
  [SAME, 'rounds large numbers', records((frame) => [frame.replace(/(?<=data: ).*/, (text) => JSON.stringify(JSON.parse(text)))])],
  [SAME, 'numbers its events from one', records((frame, n) => [frame.replace(/\nid: .*$/, `\nid: ${n + 1}`)])],
  [SAME, 'streams records without their links', records((frame) => [frame.replace('"_links":', '"links":')])],
  [
    SAME,
    'streams from the beginning, whatever the cursor',
    asking((asked) => (wantsStream(asked) && /^\d/.test(asked.param('cursor') ?? '') ? changed(asked.url, { cursor: '' }) : undefined)),
  ],
  [SAME, 'streams only what is new', records(() => [])],
  [
    SAME,
    'gives a page where a stream was asked for',
    answered((response, asked, service) => (isStream(response) ? page(asked, service) : undefined)),
  ],
  [RESUMED, 'gives the record again after which it is resumed', preceded(lastId)],
  [RESUMED, 'leaves a record out when it is resumed', records((frame, n, asked) => (n === 0 && lastId(asked) ? [] : [frame]))],
  [
    RESUMED,
    'takes the cursor of the URL, whatever was read last',
    asking(({ headers }) => {
      headers.delete('last-event-id')
      return { headers }
    }),
  ],
  [
    NOW,
    'takes now for the beginning',
    asking((asked) => (wantsStream(asked) && fromNow(asked) ? changed(asked.url, { cursor: '' }) : undefined)),
  ],
  [
    NOW,
    'greets from now with a place before the newest record',
    hellos((frame, asked) => (fromNow(asked) ? frame.replace(/id: .*$/, 'id: 7') : frame)),
  ],
  [NOW, 'begins from now with what was there', preceded((asked) => (fromNow(asked) ? '7' : null))],
  [
    NOW,
    'greets from now with a place beyond all that comes',
    hellos((frame, asked) => (fromNow(asked) ? frame.replace(/id: .*$/, `id: ${2n ** 63n - 1n}`) : frame)),
  ],
  [NOW, 'greets from now without a place', hellos((frame, asked) => (fromNow(asked) ? frame.replace(/\nid: .*$/, '') : frame))],
  [FRAMES, 'does not say when to connect again', hellos((frame) => frame.replace(/^retry: .*\n/, ''))],
  [FRAMES, 'greets with a comment', hellos((frame) => `: hello\n${frame}`)],
  [
    FRAMES,
    'greets without the place where it begins',
    hellos((frame, asked) => (fromNow(asked) ? frame : frame.replace(/id: .*$/, 'id: '))),
  ],
  [FRAMES, 'sends the id before the data', records((frame) => [frame.replace(/^(data: .*)\n(id: .*)$/, '$2\n$1')])],
  [FRAMES, 'names its records as events', records((frame) => [`event: message\n${frame}`])],
  [FRAMES, 'ends its lines as HTTP does', frames((frame) => [frame.replaceAll('\n', '\r\n')])],
  [FRAMES, 'lets streams be kept', headed((headers) => headers.set('cache-control', 'max-age=60'))],
  [FRAMES, 'lets proxies hold streams back', headed((headers) => headers.delete('x-accel-buffering'))],
  [FRAMES, 'lets no other origin read its streams', headed((headers) => headers.delete('access-control-allow-origin'))],
  [
    REFUSED,
    'streams from the beginning if it cannot read the cursor',
    asking((asked) => (wantsStream(asked) && asked.param('cursor') === 'x' ? changed(asked.url, { cursor: '' }) : undefined)),
  ],
  [
    REFUSED,
    'streams, although the order is desc',
    asking((asked) => (wantsStream(asked) && asked.param('order') === 'desc' ? changed(asked.url, { order: '' }) : undefined)),
  ],
  [
    REFUSED,
    'says only in the stream that an account is not there',
    answered((response, asked) =>
      wantsStream(asked) && response.status === 404
        ? new Response('retry: 1000\nevent: open\ndata: "hello"\nid: \n\nevent: error\ndata: {}\n\n', {
            headers: { 'content-type': 'text/event-stream' },
          })
        : undefined,
    ),
    '/accounts/{account}/operations',
  ],
  [
    UNSTREAMED,
    'gives a page to who wants nothing but a stream that is not there',
    answered((response, asked, service) => (response.status === 406 && wantsStream(asked) ? page(asked, service) : undefined)),
    '/ledgers/{ledger}/operations',
  ],
]
