/** SHA-256 (FIPS 180-4): Node's if there is one, else the code below. */
import { utf8 } from './bytes.ts'

/** Bytes go in piece by piece; the digest of all of them is given once. */
export interface Hasher {
  /** @param data text stands for its UTF-8 bytes */
  update(data: Uint8Array | string): void
  digest(): Uint8Array
}

interface Constants {
  readonly start: Uint32Array
  readonly rounds: Uint32Array
}

let known: Constants | undefined

/** Computed on first use, which never comes where Node's digest is available. */
const constants = (): Constants =>
  (known ??= {
    start: Uint32Array.from({ length: 8 }, (_, n) => fraction(Math.sqrt(prime(n)))),
    rounds: Uint32Array.from({ length: 64 }, (_, n) => fraction(Math.cbrt(prime(n)))),
  })

/** The first 32 bits after the binary point. */
function fraction(value: number): number {
  return Math.floor((value - Math.floor(value)) * 4294967296)
}

function prime(n: number): number {
  let found = -1
  for (let number = 2; ; number++) {
    let divisor = 2
    while (number % divisor !== 0) divisor++
    if (divisor === number && ++found === n) return number
  }
}

const rotated = (word: number, by: number): number => (word >>> by) | (word << (32 - by))

class PortableHasher implements Hasher {
  private readonly state = constants().start.slice()
  private readonly rounds = constants().rounds
  private readonly words = new Uint32Array(64)
  private readonly block = new Uint8Array(64)
  private readonly view = new DataView(this.block.buffer)
  private length = 0

  update(data: Uint8Array | string): void {
    const bytes = typeof data === 'string' ? utf8(data) : data
    for (let at = 0; at < bytes.length; ) {
      const used = this.length % 64
      const taken = Math.min(64 - used, bytes.length - at)
      this.block.set(bytes.subarray(at, at + taken), used)
      this.length += taken
      at += taken
      if (used + taken === 64) this.mix()
    }
  }

  digest(): Uint8Array {
    const bits = this.length * 8
    this.update(Uint8Array.of(0x80))
    this.update(new Uint8Array((120 - (this.length % 64)) % 64))
    const tail = new DataView(new ArrayBuffer(8))
    tail.setUint32(0, Math.floor(bits / 4294967296))
    tail.setUint32(4, bits >>> 0)
    this.update(new Uint8Array(tail.buffer))
    const out = new DataView(new ArrayBuffer(32))
    for (const [at, word] of this.state.entries()) out.setUint32(4 * at, word)
    return new Uint8Array(out.buffer)
  }

  private mix(): void {
    const { words, state, rounds } = this
    for (let i = 0; i < 16; i++) words[i] = this.view.getUint32(4 * i)
    for (let i = 16; i < 64; i++) {
      const [near, far] = [words[i - 2]!, words[i - 15]!]
      const sigma0 = rotated(far, 7) ^ rotated(far, 18) ^ (far >>> 3)
      const sigma1 = rotated(near, 17) ^ rotated(near, 19) ^ (near >>> 10)
      words[i] = words[i - 16]! + sigma0 + words[i - 7]! + sigma1
    }
    let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number]
    for (let i = 0; i < 64; i++) {
      const choice = (e & f) ^ (~e & g)
      const one = (h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + choice + rounds[i]! + words[i]!) | 0
      const majority = (a & b) ^ (a & c) ^ (b & c)
      const two = ((rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + majority) | 0
      ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0]
    }
    for (const [at, word] of [a, b, c, d, e, f, g, h].entries()) state[at] = state[at]! + word
  }
}

const crypto = globalThis.process?.getBuiltinModule?.('node:crypto')

/** The portable form of {@link hasher}, exported so that a test can hold both to the same values. */
export const portableHasher = (): Hasher => new PortableHasher()

export const hasher: () => Hasher = crypto ? () => crypto.createHash('sha256') : portableHasher

/** The digest of bytes, or of a text's UTF-8 bytes. */
export function sha256(data: Uint8Array | string): Uint8Array {
  const all = hasher()
  all.update(data)
  return all.digest()
}
