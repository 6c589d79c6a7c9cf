/** The laws of streams: a correct stream passes, faulty ones are rejected. */
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { streamLaws } from '../../adapters/testing/index.ts'
import { faultyStreams } from './faulty-streams.ts'
import { Feed } from './feed.ts'
import { named, rejects } from './rejects.ts'

describe('a stream over an array', () => {
  for (const law of streamLaws({ open: (step) => new Feed(step) })) test(law.name, law.run)
})

/** Asks again and again, a step each time, and is never woken. */
class Polled extends Feed {
  override async rung(): Promise<void> {
    await this.step()
  }
}

describe('a stream that polls', () => {
  for (const law of streamLaws({ open: (step) => new Polled(step), runs: 20 })) test(law.name, law.run)
})

/** Reads each page in its own time, whatever the schedule. */
class Slow extends Feed {
  override async page(after: number) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    return this.items.filter(({ id }) => id > after).slice(0, 1)
  }
}

describe('a stream that takes longer for all its records than `patience`, and is never silent so long', () => {
  for (const law of streamLaws({ open: (step) => new Slow(step), patience: 150, runs: 4 }))
    if (!law.name.startsWith('more records at once')) test(law.name, law.run)

  test('holds however many records there are', async () => {
    const laws = streamLaws({ open: (step) => new Slow(step), patience: 200, runs: 3 })
    vi.stubEnv('FC_SEED', '5')
    await named(laws, 'more records at once')
      .run()
      .finally(() => vi.unstubAllEnvs())
  })
})

test('a stream that falls silent for longer than `patience` is rejected', async () => {
  class Losing extends Slow {
    override async page(after: number) {
      return (await super.page(after)).filter(({ id }) => id !== 3)
    }
  }
  const laws = streamLaws({ open: (step) => new Losing(step), patience: 60, runs: 20 })
  await rejects(laws, 'a stream delivers what is there', /^reader 0 from the start: it waits, and never saw 3/)
})

test.each([
  [0, 'was not answered when no step was left: if it waits for anything else, give the laws `patience`'],
  [20, 'was not answered, and nothing else came for 20 ms (`patience`)'],
])('a writer that never comes to its end is rejected with what it waited for; patience: %i', async (patience, why) => {
  class Stuck extends Feed {
    override async append(count: number): Promise<void> {
      await super.append(count)
      if (this.items.length > 6) await new Promise(() => {})
    }
  }
  const laws = streamLaws({ open: (step) => new Stuck(step), patience, runs: 30 })
  const law = named(laws, 'a stream delivers what is there')
  const said = await law.run().catch(({ message }: Error) => message)
  expect(said).toMatch(/^the writer never came to its end: append\(\d\), number \d of \d, /)
  expect(said).toContain(why)
})

test('a stream that polls, and loses a record, is rejected', async () => {
  class Losing extends Polled {
    override async page(after: number) {
      return (await super.page(after)).filter(({ id }) => id !== 3)
    }
  }
  const laws = streamLaws({ open: (step) => new Losing(step) })
  await rejects(
    laws,
    'a stream delivers what is there',
    /^reader 0 from the start: (?:it waits, and never saw 3|record 2 that it saw is 4)/,
  )
})

test('a cursor for now that is no text is named', async () => {
  const laws = streamLaws({ open: (step) => Object.assign(new Feed(step), { now: (() => '0') as never }) })
  await expect(named(laws, 'a stream delivers what is there').run()).rejects.toThrow(
    'the source has a function as `now`: it must be a cursor',
  )
})

test.for(faultyStreams)('"%s…" rejects a stream that %s', async ([start, , Source]) => {
  const laws = streamLaws({ open: (step) => new Source(step), runs: 500 })
  await rejects(laws, start)
})

test.each<[limit: object, cases: RegExp]>([
  [{ interruptAfterTimeLimit: 0 }, /0 cases/],
  [{ interruptAfterTimeLimit: 40, markInterruptAsFailure: true }, /\d+ cases/],
  [{ skipAllAfterTimeLimit: 0 }, /0 cases/],
])('a law that a time limit of fast-check itself, %o, cut short says so', async (limit, cases) => {
  const before = fc.readConfigureGlobal()
  fc.configureGlobal({ ...before, ...limit })
  try {
    const [law] = streamLaws({ open: (step) => new Feed(step), runs: 500 })
    const said = await law!.run().catch(({ message }: Error) => message)
    expect(said).toMatch(/^the law was interrupted after .* it ran into fast-check's own time limit/)
    expect(said).toMatch(cases)
  } finally {
    fc.configureGlobal(before)
  }
})

test('a record that changed since it was seen is shown as it was, and as it is', async () => {
  class Editing extends Feed {
    override async append(count: number): Promise<void> {
      await super.append(count)
      Object.assign(this.items[0]!, { at: new Date(this.rings) })
    }
  }
  await rejects(
    streamLaws({ open: (step) => new Editing(step) }),
    'a stream delivers what is there',
    /^reader 0 from .*: record 0 that it saw, 1, was \{"at":Date\(1970.*\),"id":1\}, and is \{"at":Date\(1970.*\),"id":1\} in the list of all records/,
  )
})

test('a law that needs what a source does not have must be declined, with a reason', async () => {
  const laws = streamLaws({ open: (step) => Object.assign(new Feed(step), { now: undefined }) })
  await expect(named(laws, 'a stream from now').run()).rejects.toThrow('decline this law')
  const declined = streamLaws({ open: (step) => new Feed(step), declined: { 'a stream from now': 'this feed has no clock' } })
  expect(named(declined, 'a stream from now').skip).toBe('this feed has no clock')
})

test('a failure reports only the last steps of a long schedule', async () => {
  /** Takes twenty steps per record, and forgets the fifth record. */
  class Careful extends Feed {
    override async append(count: number): Promise<void> {
      for (let n = 0; n < count * 20; n++) await this.step()
      await super.append(count)
    }
    override records() {
      return super.records().filter(({ id }) => id !== 5)
    }
  }
  const laws = streamLaws({ open: (step) => new Careful(step), runs: 30 })
  const said = await named(laws, 'a stream delivers what is there')
    .run()
    .catch(({ message }: Error) => message)
  const lines = String(said).split('\n')
  expect(lines[0]).toMatch(/^reader 0 from the start: record 4 that it saw is 5/)
  expect(lines[2]).toMatch(/^… \d+ steps before$/)
  expect(lines.filter((line) => line.startsWith('-> '))).toHaveLength(20)
  expect(lines.at(-1)).toMatch(/^FC_SEED=-?\d+ repeats this\.$/)
})
