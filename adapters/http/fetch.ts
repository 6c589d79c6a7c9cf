/** The core as a fetch handler: for Hono, Deno, Bun, workers, and whatever else uses Request and Response. */
import { concat, type Ledger, OptionRules } from '../../src/index.ts'
import type { Frames } from './event-stream.ts'
import { type Core, coreOf } from './handler.ts'
import { type MountOptions, mountRules } from './mount.ts'
import { type CoreOptions, checkGiven, coreRules } from './options.ts'

export interface HandlerOptions extends CoreOptions, MountOptions {}

export interface Handler extends Pick<Core, 'endStreams'> {
  (request: Request): Promise<Response>
}

const handlerOptions = new OptionRules<HandlerOptions>('createHandler', { ...coreRules, ...mountRules })

/**
 * Answers requests with what the ledger holds. If they arrive below another path, give it as `mount`; if something strips that path before, put it
 * into `baseUrl`, since links begin with it.
 * @example export default { fetch: createHandler(ledger) }
 * @throws BAD_REQUEST if `ledger` is not a ledger, or an option is unknown or out of range; the handler itself never rejects
 */
export function createHandler(ledger: Ledger, options: HandlerOptions = {}): Handler {
  const checked = checkGiven(ledger, options, handlerOptions)
  const core = coreOf(ledger, checked)
  const handle = async (request: Request): Promise<Response> => {
    const { headers: given, method, url } = request
    const fragment = url.indexOf('#')
    const target = fragment < 0 ? url : url.slice(0, fragment)
    const { status, headers, parts, release, frames } = await core({ method, target, header: (name) => given.get(name) ?? undefined })
    const sent = new Headers()
    for (let i = 0; i < headers.length; i += 2) sent.append(headers[i]!, headers[i + 1]!)
    if (frames) {
      const { signal } = request
      if (signal.aborted) frames.end()
      else signal.addEventListener('abort', () => frames.end(), { once: true })
      return new Response(bodyOf(frames, request), { status, headers: sent })
    }
    const response = new Response(parts.length === 0 ? null : (concat(parts) as BodyInit), { status, headers: sent })
    // A response copies the bytes it is given.
    release?.()
    return response
  }
  return Object.assign(handle, { endStreams: core.endStreams })
}

/**
 * An event stream as a pulled body.
 * @param request held as long as the stream lasts: the signal of one that was collected is never told that its client has gone
 */
function bodyOf(frames: Frames, request: Request): ReadableStream<Uint8Array> {
  /** Until the stream is over. */
  let held: Request | undefined = request
  return new ReadableStream<Uint8Array>(
    {
      pull: (controller) =>
        new Promise((resolve) => {
          frames.pull({
            frame({ bytes }) {
              controller.enqueue(bytes)
              resolve()
            },
            end(cut) {
              if (!held) return
              held = undefined
              if (cut) controller.error(new Error('The reader took nothing for too long.'))
              else controller.close()
              resolve()
            },
          })
        }),
      cancel() {
        held = undefined
        frames.end()
      },
    },
    { highWaterMark: 0 },
  )
}
