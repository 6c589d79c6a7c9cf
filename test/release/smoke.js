/** The package as shipped, at work on whatever release of Node runs this: fails with what went wrong, or prints the release. See `nodes.test.js`. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { catalogue, openLedger } from 'ledger-folio'
import { generate } from 'ledger-folio/generate'
import { createHandler, listener, serve } from 'ledger-folio/http'
import { level } from 'ledger-folio/level'
import { lmdb } from 'ledger-folio/lmdb'
import { readCloses } from 'ledger-folio/ndjson'

const closes = [...generate({ ledgers: 30, seed: 7 })]
const sequences = closes.map(({ ledger }) => ledger.sequence)
const place = mkdtempSync(join(tmpdir(), 'folio-smoke-'))

/** The sequences of the ledgers in the text of an event stream, until the last of all is there. */
async function streamed(chunks) {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true })
    if (text.includes(`"sequence":${sequences.at(-1)},`) && text.endsWith('\n\n')) break
  }
  assert.match(text, /^retry: 1000\nevent: open\ndata: "hello"\nid: .*\n\n/)
  return Array.from(text.matchAll(/^data: .*"sequence":(\d+),/gm), ([, sequence]) => Number(sequence))
}

const headers = { accept: 'text/event-stream' }
const overHttp = (url) =>
  new Promise((resolve, reject) => get(`${url}/ledgers`, { headers }, (answer) => resolve(streamed(answer))).on('error', reject))

async function serves(ledger) {
  const server = await serve(ledger, { port: 0 })
  const mounted = createServer(listener(ledger)).listen(0, '127.0.0.1')
  await new Promise((resolve) => mounted.once('listening', resolve))
  const page = await fetch(`${server.url}/ledgers?limit=5`)
  assert.equal((await page.json())._embedded.records.length, 5)
  const again = await fetch(`${server.url}/ledgers?limit=5`, { headers: { 'if-none-match': page.headers.get('etag') } })
  assert.equal(again.status, 304)
  const fetched = await createHandler(ledger)(new Request('http://ledger.test/ledgers', { headers }))
  const streams = [overHttp(server.url), overHttp(`http://127.0.0.1:${mounted.address().port}`), streamed(fetched.body)]
  // What they begin with is history; the rest comes while they are open.
  await new Promise((resolve) => setTimeout(resolve, 100))
  await ledger.ingest(closes)
  for (const found of await Promise.all(streams)) assert.deepEqual(found, sequences)
  mounted.closeAllConnections()
  mounted.close()
  await server.close()
}

const program = fileURLToPath(import.meta.resolve('ledger-folio')).replace(/index\.js$/, 'cli.js')
const folio = (...argv) => execFileSync(process.execPath, [program, ...argv], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

try {
  for (const open of [() => level(join(place, 'level')), () => lmdb(join(place, 'lmdb'))]) {
    const ledger = await openLedger(await open())
    await ledger.ingest(closes.slice(0, 20))
    await serves(ledger)
    const payments = await ledger.page(catalogue.payments, {}, { order: 'desc', limit: 200 })
    assert.equal(payments.records.length, 200)
    assert.equal((await ledger.verify()).ok, true)
    await ledger.close()
  }
  const file = join(place, 'closes.ndjson')
  writeFileSync(file, folio('generate', '--ledgers', '5', '--seed', '7'))
  const read = []
  for await (const { ledger } of readCloses(file)) read.push(ledger.sequence)
  const data = join(place, 'data')
  folio('ingest', '--data', data, file)
  folio('verify', '--data', data, '--files')
  const records = folio('get', '/ledgers', '--data', data, '--ndjson').trim().split('\n')
  assert.deepEqual(
    records.map((line) => JSON.parse(line).sequence),
    read,
  )
  console.log(process.version)
} finally {
  rmSync(place, { recursive: true, force: true })
}
