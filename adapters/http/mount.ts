/** Where a service lies in a server of somebody else: the path that requests come below, and that links begin with. */
import { badRequest } from '../../src/index.ts'
import { type CoreResponse, problemResponse } from './message.ts'

export interface MountOptions {
  /**
   * The path that requests come below, such as `/history`, where nobody takes it off: Fastify, Next and the routes of Hono do not; Express and the
   * `mount` of Hono do. Links begin with it, unless there is a `baseUrl`, which then has it; what lies elsewhere is not found.
   */
  readonly mount?: string | undefined
}

/** A path to put before others: empty, or segments. */
export const isMount = (path: unknown): path is string => typeof path === 'string' && /^(?:\/[\w.~!$&'()*+,;=:@%-]+)*$/.test(path)

/** @throws BAD_REQUEST for a mount that is no path */
export function checkMount(mount: string | undefined): string | undefined {
  if (mount === undefined || (mount !== '' && isMount(mount))) return mount
  throw badRequest('mount', 'a path that begins with a slash and ends in none')
}

/** What a target asks for below a path, as a target; undefined where it lies elsewhere. */
export function below(mount: string, target: string): string | undefined {
  const [origin] = /^https?:\/\/[^/?]*/i.exec(target) ?? ['']
  const path = target.slice(origin.length)
  if (!path.startsWith(mount)) return undefined
  const rest = path.slice(mount.length)
  if (rest === '' || rest[0] === '?') return `${origin}/${rest}`
  return rest[0] === '/' ? origin + rest : undefined
}

/** The answer to what does not lie below the mount. */
export const elsewhere = (): CoreResponse => problemResponse({ name: 'not_found', detail: 'There is nothing at this path.' })
