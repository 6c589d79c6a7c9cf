/**
 * The forms in which bytes come to a store. The engine carves keys and values from larger memory, so whole arrays are the exception there: a store
 * that reads `key.buffer`, or copies a Buffer with `slice`, works with whole arrays alone.
 */

/** The same bytes, in memory of their own kind. */
export type Form = (bytes: Uint8Array) => Uint8Array

/** The bytes lie at an odd offset, and no zeros are around them. */
function within(bytes: Uint8Array): readonly [memory: Uint8Array<ArrayBuffer>, at: number] {
  const at = 13
  const memory = new Uint8Array(at + bytes.length + 6).fill(0xa5)
  memory.set(bytes, at)
  return [memory, at]
}

const whole: Form = (bytes) => new Uint8Array(bytes)

const view: Form = (bytes) => {
  const [memory, at] = within(bytes)
  return memory.subarray(at, at + bytes.length)
}

/** As from the pool of Node, but at the same offset every time. */
const buffer: Form = (bytes) => {
  const [memory, at] = within(bytes)
  return globalThis.Buffer.from(memory.buffer, at, bytes.length)
}

/** Every form that there is in this runtime, by name. */
export const forms: readonly (readonly [name: string, form: Form])[] = [
  ['a whole Uint8Array', whole],
  ['a view into a larger Uint8Array', view],
  ...(globalThis.Buffer ? [['a Buffer, at an offset of larger memory', buffer] as const] : []),
]

/** Nothing is copied: for laws that keep what they hand in. */
export const asGiven: Form = (bytes) => bytes

export interface FormsInTurns {
  readonly form: Form
  /** Begins anew, so that a case of a property gets the same forms whenever it is tried. */
  restart(): void
}

/** A form for each array, in an order without a period that a batch could be in step with. */
export function inTurns(): FormsInTurns {
  let state = 1
  return {
    form: (bytes) => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
      return forms[(state >>> 16) % forms.length]![1](bytes)
    },
    restart: () => {
      state = 1
    },
  }
}
