/** The laws of streams: a right stream passes, faulty ones are rejected. */
import { describe, expect, test } from 'vitest'
import { streamLaws } from '../../adapters/testing/index.ts'
import { faultyStreams } from './faulty-streams.ts'
import { Feed } from './feed.ts'
import { named, rejects } from './rejects.ts'

describe('a stream over an array', () => {
  for (const law of streamLaws({ open: (step) => new Feed(step) })) test(law.name, law.run)
})

test.for(faultyStreams)('"%s…" rejects a stream that %s', async ([start, , Source]) => {
  const laws = streamLaws({ open: (step) => new Source(step), runs: 500 })
  await rejects(laws, start)
})

test('a law that asks for what a source has not must be declined, with the reason', async () => {
  const laws = streamLaws({ open: (step) => Object.assign(new Feed(step), { now: undefined }) })
  await expect(named(laws, 'a stream from now').run()).rejects.toThrow('decline this law')
  const declined = streamLaws({ open: (step) => new Feed(step), declined: { 'a stream from now': 'this feed has no clock' } })
  expect(named(declined, 'a stream from now').skip).toBe('this feed has no clock')
})
