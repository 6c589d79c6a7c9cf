/** What `folio serve` offers to try can be pasted into a shell, whatever ids it contains. */
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { urlsToTry } from '../../adapters/cli/try.ts'
import { serve } from '../../adapters/http/index.ts'
import { memory } from '../../adapters/memory/index.ts'
import { type LedgerClose, openLedger } from '../../src/index.ts'
import { closes } from '../http/support.ts'

test.each(["it's", "'; exit 7; '", 'ö /?#"\\%&+<x>', '$(exit 7)', '%27'])('the URLs to try lead there for account %j', async (account) => {
  const ledger = await openLedger(memory())
  const [first] = structuredClone(closes) as any[]
  await ledger.append({ ...first, transactions: [{ ...first.transactions[0], account }] } as LedgerClose)
  const server = await serve(ledger, { port: 0 })
  const commands = await urlsToTry(ledger, server.url)
  expect(commands).toHaveLength(6)
  for (const command of commands) {
    const args = execFileSync('sh', ['-c', command.replace(/^curl/, "printf '%s\\n'")], { encoding: 'utf8' }).split('\n')
    const url = args.find((arg) => arg.startsWith('http'))!
    const { status, body } = await fetch(url)
    expect([command, status]).toEqual([command, 200])
    await body!.cancel()
  }
  await server.close()
  await ledger.close()
})
