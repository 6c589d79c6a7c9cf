/** A process of `crowd`: `open PLACE COUNT` opens and closes so many times, `write PLACE NUMBER` writes until its input ends. Each says what it has done. */
import { Gate } from '../../adapters/lmdb/gate.ts'
import { lmdb } from '../../adapters/lmdb/index.ts'

/** By whom, and how many before it. */
export const keyOf = (number: number, at: number): Uint8Array => Uint8Array.of(number >> 8, number & 255, at >> 8, at & 255)
/** More are not told apart by their keys. */
const MAX_WRITES = 0xffff

export const GATE_OPEN = 'nobody waits for anybody'

export async function crowdChild([what, place, number]: readonly string[], plant: string | undefined): Promise<void> {
  if (plant === GATE_OPEN) Object.assign(Gate.prototype, { shut: (work: () => unknown) => work(), enter: () => true, newest: () => 0n })
  const open = () => lmdb(place!, { checkFiles: false })
  const say = (line: number) => process.stdout.write(`${line}\n`)
  if (what === 'open') {
    for (let i = 0; i < Number(number); i++) {
      const store = await open()
      say(i)
      await store.close()
    }
    return
  }
  let isOver = false
  process.stdin.on('end', () => {
    isOver = true
  })
  process.stdin.resume()
  const store = await open()
  for (let i = 0; i <= MAX_WRITES && !isOver; i++) {
    const key = keyOf(Number(number), i)
    await store.write([[key, Uint8Array.of(1)]], { durable: true })
    if (!store.get(key)) throw new Error(`write ${i} is not seen by who made it`)
    say(i)
  }
  await store.close()
}
