/**
 * The base of every link: configured, or read from the request. A Host header is text from outside that ends up in bodies and caches, so only what
 * can be a host name or address and a port is let through.
 */
import { badParameter, ProblemError } from './problem.ts'

const hostPattern = /^(?:\w(?:[\w.-]{0,252}\w)?\.?|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{0,5})?$/

/** The last host that was let through, as it came and as links begin with it: nearly all requests name the same one. */
let [known, checked] = ['', '']

/** @throws ProblemError if a request that needs a Host has none or several, or one that is none; it may be empty (RFC 9112, 3.2) */
export function requireHost(host: string | undefined): void {
  if (host === undefined) throw new ProblemError(badParameter('Host', 'one Host header'))
  if (host !== '') checkHost(host)
}

/** The authority that a link may be built on. @throws ProblemError for anything else */
function checkHost(host: string): string {
  if (host === known) return checked
  // The pattern keeps out what could end up in a body, the parser what makes no URL: ports and addresses that there cannot be.
  if (!hostPattern.test(host) || !URL.canParse(`http://${host}`))
    throw new ProblemError(badParameter('Host', 'a host name or address, and perhaps a port'))
  // A port may be left empty (RFC 3986, 3.2.3).
  checked = host.toLowerCase().replace(/:$/, '')
  known = host
  return checked
}

/** Whether something is a base URL: absolute, http or https, without query. */
export function isBaseUrl(given: unknown): boolean {
  const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined
  return url !== undefined && /^https?:$/.test(url.protocol) && !(url.search || url.hash || url.username || url.password)
}

/** A configured base URL without a trailing slash. */
export function plainBaseUrl(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl)
  return origin + pathname.replace(/\/+$/, '').replace(/["\\<>{}]/g, encodeURIComponent)
}

/** The first element of a list that proxies append to. */
const first = (list: string | undefined): string | undefined => list?.split(',', 1)[0]?.trim() || undefined

interface BaseSource {
  readonly scheme: string
  readonly authority: string | undefined
  readonly mount: string
  header(name: string): string | undefined
}

/** Scheme, host and mount path of a request, without a trailing slash. @throws ProblemError if the host is missing or not valid */
export function baseOf({ scheme, authority, mount, header }: BaseSource, trustProxy: boolean): string {
  const forwarded = trustProxy ? first(header('x-forwarded-host')) : undefined
  const host = forwarded ?? authority ?? header('host')
  if (host === undefined || host === '') throw new ProblemError(badParameter('Host', 'a Host header, which links are built from'))
  const proto = trustProxy ? first(header('x-forwarded-proto'))?.toLowerCase() : undefined
  return `${proto === 'https' || proto === 'http' ? proto : scheme}://${checkHost(host)}${mount}`
}
