/** The head of a response on node:http, whatever an application that mounts the listener has put around the response. */
import { ServerResponse } from 'node:http'

/**
 * Writes status and headers. If something has wrapped `writeHead`, each header is set by itself: a flat list is read as pairs by some of what does.
 * @param headers names and values in turn, each name once
 */
export function writeHead(response: ServerResponse, status: number, headers: readonly string[]): void {
  const varies = response.getHeader('vary')
  if (varies === undefined && response.writeHead === ServerResponse.prototype.writeHead) {
    response.writeHead(status, headers as string[])
    return
  }
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!
    const value = headers[i + 1]!
    response.setHeader(name, name === 'vary' && varies !== undefined ? both(String(varies), value) : value)
  }
  response.writeHead(status)
}

/** What the application lets its answers depend on, and what ours depend on. */
function both(theirs: string, ours: string): string {
  const names = theirs.split(',').map((name) => name.trim().toLowerCase())
  return names.includes('*') || names.includes(ours) ? theirs : `${theirs}, ${ours}`
}
