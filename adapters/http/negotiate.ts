/** Content negotiation (RFC 9110, 12.5.1): which of the forms available for a path the Accept header prefers. */

export type Form = 'hal' | 'json' | 'stream'

/** The media types, in the order that breaks ties. */
export const mediaTypes: Readonly<Record<Form, string>> = {
  hal: 'application/hal+json',
  json: 'application/json',
  stream: 'text/event-stream',
}

interface Range {
  readonly type: string
  readonly quality: number
  /** 2 for `type/subtype`, 1 for any subtype, 0 for anything. */
  readonly specificity: number
}

/** A media range with its quality. Parameters other than `q` are ignored. What is no range matches nothing. */
function parseRange(text: string): Range {
  const [range = '', ...parameters] = text.split(';')
  const type = range.trim().toLowerCase()
  const stated = parameters.map((one) => /^\s*q\s*=\s*([\d.]+)\s*$/i.exec(one)?.[1]).find((q) => q !== undefined)
  const quality = stated === undefined ? 1 : Math.min(1, Number(stated))
  return { type, quality: Number.isNaN(quality) ? 0 : quality, specificity: type === '*/*' ? 0 : type.endsWith('/*') ? 1 : 2 }
}

const matches = (range: string, type: string): boolean =>
  range === '*/*' || range === type || (range.endsWith('/*') && type.startsWith(range.slice(0, -1)))

/** How many characters of a header are read: several times what browsers send. */
const MAX_READ = 1024

/** The ranges of a header; if it is too long, those that end within what is read. */
function rangesOf(accept: string): Range[] {
  const read = accept.length > MAX_READ ? accept.slice(0, Math.max(0, accept.lastIndexOf(',', MAX_READ))) : accept
  // What a parameter says in quotes may hold what separates.
  return read
    .replace(/"(?:[^"\\]|\\.)*"/g, '""')
    .split(',')
    .map(parseRange)
}

function choose(accept: string, streams: boolean): Form | undefined {
  const ranges = rangesOf(accept)
  let best: { form: Form; quality: number; specificity: number; place: number } | undefined
  for (const form of ['hal', 'json', 'stream'] as const) {
    if (form === 'stream' && !streams) continue
    // The most specific range that names the type decides its quality, even if a broader one gives it more.
    let place = -1
    for (const [i, range] of ranges.entries())
      if (matches(range.type, mediaTypes[form]) && (place < 0 || range.specificity > ranges[place]!.specificity)) place = i
    if (place < 0) continue
    const { quality, specificity } = ranges[place]!
    if (quality === 0) continue
    const better =
      !best ||
      quality > best.quality ||
      (quality === best.quality && (specificity > best.specificity || (specificity === best.specificity && place < best.place)))
    if (better) best = { form, quality, specificity, place }
  }
  return best?.form
}

/** What was chosen for a header, by whether the path can be streamed: clients send few different headers. */
const seen = { streamed: new Map<string, Form | undefined>(), not: new Map<string, Form | undefined>() }
const MAX_SEEN = 256

/** The form to answer in, or undefined if the header allows none. `streams`: the path can be streamed. */
export function negotiate(accept: string | undefined, streams: boolean): Form | undefined {
  if (accept === undefined || accept === '*/*' || accept.trim() === '') return 'hal'
  const known = streams ? seen.streamed : seen.not
  const held = known.get(accept)
  if (held !== undefined || known.has(accept)) return held
  const form = choose(accept, streams)
  if (known.size >= MAX_SEEN) known.clear()
  if (accept.length <= 512) known.set(accept, form)
  return form
}
