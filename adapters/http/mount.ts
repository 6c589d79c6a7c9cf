/** Where a service is mounted in another server: the path below which requests arrive, and with which links begin. */
import type { Rules } from '../../src/index.ts'

export interface MountOptions {
  /**
   * The path below which requests arrive, such as `/history`, if nothing strips it: Fastify, Next and the routes of Hono do not; Express and the
   * `mount` of Hono do. Links begin with it, unless there is a `baseUrl`, which must then contain it; a request for any other path is not found.
   */
  readonly mount?: string | undefined
}

/** A path to prefix others with: empty, or segments. */
export const isMount = (path: unknown): path is string => typeof path === 'string' && /^(?:\/[\w.~!$&'()*+,;=:@%-]+)*$/.test(path)

export const mountRules: Rules<MountOptions> = {
  mount: { expected: 'a path that begins with a slash and ends in none', fits: (path) => path !== '' && isMount(path) },
}

/** What a target asks for below a path, as a target; undefined if it lies elsewhere. */
export function below(mount: string, target: string): string | undefined {
  const [origin] = /^https?:\/\/[^/?]*/i.exec(target) ?? ['']
  const path = target.slice(origin.length)
  if (!path.startsWith(mount)) return undefined
  const rest = path.slice(mount.length)
  if (rest === '' || rest[0] === '?') return `${origin}/${rest}`
  return rest[0] === '/' ? origin + rest : undefined
}
