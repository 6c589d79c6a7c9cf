/** Arbitrary closes are valid, or invalid with the code that they name; arbitrary requests both hit and miss. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { closeChain, invalidClose, isRefusal, naiveLedger, requestDraw, requestOf } from '../../adapters/testing/index.ts'
import { catalogue } from '../../src/index.ts'
import { ledgerOf } from '../support/benches.ts'
import { errorOf } from '../support/errors.ts'
import { holds } from '../support/property.ts'

test('a network is accepted; an invalid close is rejected with its code, and changes nothing', async () => {
  const codes = new Set<string>()
  await holds(invalidClose, 100, async ({ closes, refused, code }) => {
    const ledger = await ledgerOf(closes)
    const { head } = ledger
    expect((await errorOf(() => ledger.append(refused))).code).toBe(code)
    expect(ledger.head).toEqual(head)
    codes.add(code)
  })
  expect([...codes].sort()).toEqual([
    'DUPLICATE_TRANSACTION',
    'ID_OUT_OF_RANGE',
    'INVALID_INPUT',
    'LEDGER_FORK',
    'LEDGER_GAP',
    'PREV_HASH_MISMATCH',
  ])
})

test('requests ask every query, hit, miss, are refused for every reason, and have cursors of every form', async () => {
  const models = fc.sample(closeChain, 30).map((closes) => naiveLedger(closes))
  const asked = new Set<string>()
  const answers: Record<string, number> = { records: 0, none: 0, BAD_REQUEST: 0, NOT_FOUND: 0, GONE_BEFORE_HISTORY: 0 }
  const cursors = new Set<string>()
  // Sampled all at once: separate samples would all draw the same, from the seed of the run.
  for (const [at, drawn] of fc.sample(requestDraw, 6000).entries()) {
    const model = models[at % models.length]!
    const { query, values, options } = requestOf(model, drawn)
    asked.add(query)
    const answer = catalogue[query].kind === 'one' ? model.get(query, values) : model.page(query, values, options)
    const kind = isRefusal(answer) ? answer.code : answer === undefined || answer['records']?.length === 0 ? 'none' : 'records'
    answers[kind]!++
    const { cursor } = options
    const held = model.entries.some(({ token }) => token === cursor)
    cursors.add(
      cursor === undefined || cursor === '' || cursor === 'now'
        ? String(cursor)
        : held
          ? 'a record'
          : /^\d+(-\d+)?$/.test(cursor)
            ? 'beside'
            : 'malformed',
    )
  }
  expect([...asked].sort()).toEqual(Object.keys(catalogue).sort())
  expect([...cursors].sort()).toEqual(['', 'a record', 'beside', 'malformed', 'now', 'undefined'])
  for (const [answer, count] of Object.entries(answers)) expect(count, answer).toBeGreaterThan(answer === 'records' ? 1000 : 20)
})
