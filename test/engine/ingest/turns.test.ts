/** The turns of a writer: what waits for what, whether it fails or not. */
import { expect, test } from 'vitest'
import { Turns } from '../../../src/ingest/turns.ts'
import { collectGarbage } from '../../support/held.ts'

/** Work that ends when it is told to, and notes when it begins and ends. */
function workshop() {
  const said: string[] = []
  const work = (name: string) => {
    let end!: (error?: Error) => void
    const over = new Promise<string>((resolve, reject) => {
      end = (error) => {
        said.push(`${name} ends`)
        error ? reject(error) : resolve(name)
      }
    })
    const begin = (): Promise<string> => {
      said.push(`${name} begins`)
      return over
    }
    return { begin, over, end }
  }
  const note = (name: string, promise: Promise<unknown>): void => void promise.then(() => said.push(name))
  /** What was said since the last time. */
  const heard = async (): Promise<string[]> => {
    for (let step = 0; step < 20; step++) await Promise.resolve()
    return said.splice(0)
  }
  return { work, note, heard }
}

test('each piece of work has its turn in call order, even after one that failed', async () => {
  const { work, note, heard } = workshop()
  const turns = new Turns()
  const [a, b] = [work('a'), work('b')]
  const [first, second, third] = [turns.take(a.begin), turns.alone(b.begin), turns.take(async () => 'c')]
  note('rest', turns.rest())
  expect(await heard()).toEqual(['a begins'])
  a.end(new Error('a failed'))
  await expect(first).rejects.toThrow('a failed')
  expect(await heard()).toEqual(['a ends', 'b begins'])
  b.end()
  expect([await second, await third, await turns.take(async () => 'd')]).toEqual(['b', 'c', 'd'])
  expect(await heard()).toEqual(['b ends', 'rest'])
})

test('a write that was left behind goes on during the next turn, but not during one that is alone', async () => {
  const { work, note, heard } = workshop()
  const turns = new Turns()
  const [write, next, alone] = [work('write'), work('next'), work('alone')]
  await turns.take(async () => turns.leave(write.begin()))
  void turns.take(next.begin)
  void turns.alone(alone.begin)
  note('written', turns.written())
  note('steady', turns.steady())
  note('rest', turns.rest())
  expect(await heard()).toEqual(['write begins', 'next begins'])
  next.end()
  expect(await heard()).toEqual(['next ends'])
  // Whoever left it behind is told that it failed, and nobody else.
  write.end(new Error('no room'))
  expect(await heard()).toEqual(['write ends', 'written', 'alone begins', 'steady'])
  await expect(write.over).rejects.toThrow('no room')
  alone.end()
  expect(await heard()).toEqual(['alone ends', 'rest'])
})

test('history is steady once every change that was asked for is over; other work is not waited for', async () => {
  const { work, note, heard } = workshop()
  const turns = new Turns()
  const [long, change, last] = [work('long'), work('change'), work('last')]
  void turns.take(long.begin)
  note('steady at once', turns.steady())
  expect(await heard()).toEqual(['long begins', 'steady at once'])
  const failed = turns.change(turns.alone(change.begin))
  const waits = turns.change(turns.alone(last.begin))
  note('steady', turns.steady())
  long.end()
  expect(await heard()).toEqual(['long ends', 'change begins'])
  change.end(new Error('lost'))
  await expect(failed).rejects.toThrow('lost')
  expect(await heard()).toEqual(['change ends', 'last begins'])
  last.end()
  expect([await waits, await heard()]).toEqual(['last', ['last ends', 'steady']])
})

test('nothing is kept of a change that is over', async () => {
  const turns = new Turns()
  const given: WeakRef<object>[] = []
  for (let nth = 0; nth < 100; nth++)
    await turns.change(
      turns.alone(async () => {
        const found = { nth }
        given.push(new WeakRef(found))
        return found
      }),
    )
  await turns.steady()
  await new Promise((resolve) => setTimeout(resolve))
  collectGarbage()
  // The last one may still be what the promise of the last turn resolved to.
  expect(given.filter((one) => one.deref() !== undefined).length).toBeLessThan(2)
})
