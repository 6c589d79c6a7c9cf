import { type StreamSource, streamLaws } from 'ledger-folio/testing'

/** A feed of appended numbers. One fault is planted: an append during the last read of a stream wakes nobody. */
function feed(step: () => Promise<void>): StreamSource<number> {
  const numbers: number[] = []
  const sleepers = new Set<() => void>()
  let closed = false
  const wake = (): void => {
    for (const sleeper of sleepers) sleeper()
    sleepers.clear()
  }
  return {
    records: () => [...numbers],
    token: String,
    async append(count) {
      await step() // a database would write here
      for (let n = 0; n < count; n++) numbers.push(numbers.length + 1)
      wake()
    },
    stream(cursor, signal) {
      let stopped = false
      const stop = (): void => {
        stopped = true
        wake()
      }
      signal.addEventListener('abort', stop)
      if (signal.aborted) stop() // it will not say so again
      const pull = (async function* (next: number) {
        while (!stopped && !closed) {
          const page = numbers.slice(next, next + 200)
          await step() // a database would read here
          // The fault: numbers may have come during the read. It must sleep only if `next === numbers.length`, too.
          if (page.length === 0 && !stopped && !closed) await new Promise<void>((resolve) => sleepers.add(resolve))
          next += page.length
          yield* page
        }
      })(Number(cursor))
      return {
        next: () => pull.next(),
        // A generator notices its return only where it yields, so one that sleeps must be woken.
        return() {
          stop()
          return pull.return()
        },
      }
    },
    close() {
      closed = true
      wake()
    },
  }
}

const laws = streamLaws({ open: feed, declined: { 'a stream from now': 'numbers have no cursor for now' } })
for (const { name, skip, run } of laws)
  if (skip === undefined) await run().catch(({ message }: Error) => console.log(`Broken: ${name}\n${message}\n`))
