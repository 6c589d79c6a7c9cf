/** Snappy's raw format, unpacked: a length, then literals and copies of earlier output. */

/** @returns undefined if the bytes are not well-formed */
export function unsnappy(packed: Uint8Array): Uint8Array | undefined {
  let at = 0
  let length = 0
  for (let scale = 1; ; scale *= 128) {
    const byte = packed[at++]
    if (byte === undefined || scale > 2 ** 28) return undefined
    length += (byte & 127) * scale
    if (byte < 128) break
  }
  if (length > packed.length * 64 + 64) return undefined
  const out = new Uint8Array(length)
  let written = 0
  while (at < packed.length) {
    const tag = packed[at++]!
    if ((tag & 3) === 0) {
      let count = (tag >>> 2) + 1
      if (count > 60) {
        const bytes = count - 60
        count = 1
        for (let i = 0; i < bytes; i++) count += (packed[at + i] ?? 0) * 256 ** i
        at += bytes
      }
      if (at + count > packed.length || written + count > length) return undefined
      out.set(packed.subarray(at, at + count), written)
      at += count
      written += count
      continue
    }
    const [count, offset, used] = copyOf(tag, packed, at)
    at += used
    if (offset === 0 || offset > written || written + count > length) return undefined
    // Byte by byte: a copy may overlap what it writes.
    for (let i = 0; i < count; i++, written++) out[written] = out[written - offset]!
  }
  return written === length ? out : undefined
}

/** How many bytes a copy repeats, from how far back, and how many bytes encode that. */
function copyOf(tag: number, packed: Uint8Array, at: number): readonly [count: number, offset: number, used: number] {
  const byte = (n: number): number => packed[at + n] ?? 0
  if ((tag & 3) === 1) return [((tag >>> 2) & 7) + 4, ((tag >>> 5) << 8) | byte(0), 1]
  if ((tag & 3) === 2) return [(tag >>> 2) + 1, byte(0) | (byte(1) << 8), 2]
  return [(tag >>> 2) + 1, (byte(0) | (byte(1) << 8) | (byte(2) << 16) | (byte(3) << 24)) >>> 0, 4]
}
