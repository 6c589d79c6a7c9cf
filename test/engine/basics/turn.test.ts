/** Turns of the event loop: when one has been at work for too long, and that the next one has not. */
import { expect, test, vi } from 'vitest'
import { generate } from '../../../adapters/generate/index.ts'
import { memory } from '../../../adapters/memory/index.ts'
import { catalogue, openLedger } from '../../../src/index.ts'
import { giveWay, isTurnLong, nextTurn, Pace } from '../../../src/turn.ts'

const work = (ms: number): void => {
  for (const end = performance.now() + ms; performance.now() < end; );
}

/** What is said within a turn: at once, at once again, and after some work. */
async function asked(ms: number): Promise<readonly boolean[]> {
  await nextTurn()
  const [first, second] = [isTurnLong(), isTurnLong()]
  work(ms)
  return [first, second, isTurnLong()]
}

test('a turn is long once it was at work for more than ten milliseconds, and the next one is not', async () => {
  for (let turn = 0; turn < 3; turn++) {
    const [first, , third] = await asked(11)
    expect([first, third]).toEqual([false, true])
  }
  // Unless the machine stalls just then, each time.
  let short = false
  for (let turn = 0; turn < 1000 && !short; turn++) short = (await asked(1)).every((long) => !long)
  expect(short).toBe(true)
})

test('way is given only in a long turn, and others have theirs meanwhile', async () => {
  await nextTurn()
  expect(giveWay()).toBeUndefined()
  work(11)
  let others = false
  setImmediate(() => {
    others = true
  })
  const given = giveWay()
  expect(given).toBeInstanceOf(Promise)
  await given
  expect(others).toBe(true)
})

test('what gave way is at work from when it goes on, not from when it next asks', async () => {
  await nextTurn()
  giveWay()
  work(11)
  await giveWay()
  work(11)
  expect(giveWay()).toBeInstanceOf(Promise)
})

test('whoever asks a ledger for one thing after another leaves others their turns', async () => {
  const closes = [...generate({ ledgers: 30, seed: 7 })]
  const ledger = await openLedger(memory())
  const { sequence } = closes[0]!.ledger
  await ledger.append(closes[0]!)
  for (const ask of [
    () => ledger.page(catalogue.ledgers, {}),
    () => ledger.get(catalogue.ledger, { ledger: sequence }),
    // What is held already.
    () => ledger.append(closes[0]!),
    () => ledger.append(closes[ledger.head!.last - sequence + 1] ?? closes[0]!),
  ]) {
    let hadTurn = false
    setImmediate(() => {
      hadTurn = true
    })
    // Some times at least, since the machine may stand still during one of them.
    const end = performance.now() + 200
    for (let time = 0; !hadTurn && (time < 10 || performance.now() < end); time++) await ask()
    expect(hadTurn, String(ask)).toBe(true)
  }
  await ledger.close()
})

test.each([['setImmediate'], ['setTimeout']])('a clock that replaces %s later is not asked', async (clock) => {
  const { setImmediate, setTimeout } = globalThis
  vi.resetModules()
  Object.assign(globalThis, { setImmediate: clock === 'setImmediate' ? setImmediate : undefined })
  const { nextTurn } = await import('../../../src/turn.ts')
  Object.assign(globalThis, { setImmediate: () => {}, setTimeout: () => {} })
  const turn = nextTurn()
  Object.assign(globalThis, { setImmediate, setTimeout })
  await turn
})

test('it is time to tell how far work is after a tenth of a second, whatever is done to the clock', () => {
  const now = performance.now.bind(performance)
  const replaced = vi.spyOn(performance, 'now').mockReturnValue(0)
  try {
    const pace = new Pace()
    expect(pace.isDue()).toBe(true)
    for (const end = now() + 110; now() < end; );
    expect(pace.isDue()).toBe(true)
    expect(replaced).not.toHaveBeenCalled()
  } finally {
    replaced.mockRestore()
  }
})

test('clocks that are replaced later do not keep streams from what is appended', async () => {
  vi.useFakeTimers({ toFake: ['setImmediate', 'setTimeout', 'setInterval', 'performance', 'queueMicrotask'] })
  try {
    const ledger = await openLedger(memory())
    const stream = ledger.stream(catalogue.ledgers, {})
    for (const close of generate({ ledgers: 3, seed: 7 })) {
      const next = stream.next()
      await ledger.append(close)
      expect(await next).toMatchObject({ value: { sequence: close.ledger.sequence } })
    }
    await ledger.close()
  } finally {
    vi.useRealTimers()
  }
})
