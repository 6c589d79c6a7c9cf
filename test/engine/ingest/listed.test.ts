/** What a ledger files: for each posting list, which of the records that its log gets from the ledger. */
import { describe, expect, test } from 'vitest'
import { generate } from '../../../adapters/generate/index.ts'
import { hashOf } from '../../../adapters/testing/arbitraries.ts'
import { richClose } from '../../../adapters/testing/invalid-closes.ts'
import { prepareClose } from '../../../src/ingest/encode.ts'
import { eachFiling } from '../../../src/logs.ts'
import { payments } from '../../../src/resources/operation.ts'

describe('what a ledger files', () => {
  test('names each list once, with the records that are filed there, in order', () => {
    for (const close of generate({ ledgers: 30, seed: 4, accounts: 20, transactionsPerLedger: 12, operationsPerTransaction: 4 })) {
      const { rows, unfiled } = prepareClose(close).encoded!
      const wanted = new Map<string, number[]>()
      const nths = new Map<number, number>()
      for (const { resource, sides, texts } of rows) {
        const nth = nths.get(resource.tag) ?? 0
        nths.set(resource.tag, nth + 1)
        eachFiling(resource, JSON.parse(`{${texts[0]!.text}}`), sides, ({ tag }, key) => {
          const name = `${tag} ${JSON.stringify(key.map(String))}`
          wanted.set(name, [...(wanted.get(name) ?? []), nth])
        })
      }
      const found = [...unfiled.all()].map(
        ({ index, key, ordinals }) => [`${index.tag} ${JSON.stringify(key.map(String))}`, ordinals] as const,
      )
      expect(new Map(found)).toEqual(wanted)
      expect(found.length).toBe(wanted.size)
    }
  })

  test('may be very many lists for one operation', () => {
    const participants = Array.from({ length: 200_000 }, (_, n) => `P${n}`)
    const { ledger, transactions } = richClose(2, hashOf(1, 99))
    const one = { ...transactions![0]!, participants: [], operations: [{ type: 'inflation', participants }] }
    const { encoded, error } = prepareClose({ ledger, transactions: [one] })
    expect(error).toBeUndefined()
    const lists = [...encoded!.unfiled.all()]
    expect(lists.length).toBe(2 * (1 + participants.length))
    expect(lists.some(({ index }) => index === payments)).toBe(false)
  })
})
