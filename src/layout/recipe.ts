/**
 * Recipes: how the texts of a frame become records without parsing. What stands between the holes determines, once for all texts, which members there
 * are, in which order, and which holes are strings and which numbers; so a record is made from the values in the holes.
 *
 * **Invariant:** a recipe gives what `JSON.parse` gives for `{text}`, if the values hold neither quotes nor backslashes nor numbers that it would
 * change, except that integers past 2^53 are bigints. Constant objects and arrays of a record are shared by all records of the frame, and frozen.
 */
import { frozen } from '../json.ts'
import { HOLE } from '../text/apart.ts'

/** Stands for the n-th hole while a frame is parsed, and how it is written there. */
const MARK = '\u0001'
const MARKED = '\\u0001'
const QUOTE = 34

/** An object or array that contains holes. It is built member by member, in order: faster than a copy of which most is overwritten. */
interface Mould {
  readonly isArray: boolean
  readonly names: readonly string[]
  /** What each member holds: the value of a hole or, if that is {@link NONE}, an object with holes or else a constant. */
  readonly holes: readonly number[]
  readonly moulds: readonly (Mould | undefined)[]
  readonly constants: readonly unknown[]
}
const NONE = -1

export class Recipe {
  /** For each hole: whether it is the inside of a string, rather than a number. */
  readonly isText: readonly boolean[]
  private readonly mould: Mould

  private constructor(isText: readonly boolean[], mould: Mould) {
    this.isText = isText
    this.mould = mould
  }

  /**
   * @param frame members without braces
   * @returns undefined if it is not clear where the frame's holes are
   */
  static of(frame: string): Recipe | undefined {
    const pieces = frame.split(HOLE)
    let marked = pieces[0]!
    const isText: boolean[] = []
    for (let hole = 0; hole < pieces.length - 1; hole++) {
      isText.push(pieces[hole]!.charCodeAt(pieces[hole]!.length - 1) === QUOTE)
      const quote = isText[hole] ? '' : '"'
      marked += quote + MARKED + hole + quote + pieces[hole + 1]
    }
    const found: number[] = []
    try {
      const mould = mouldOf(JSON.parse(`{${marked}}`), found)
      // Of members with the same name the last one wins: then a hole is missing.
      return found.length === isText.length ? new Recipe(isText, mould) : undefined
    } catch {
      return undefined
    }
  }

  /** The members of a record with these values in the holes; objects inside it are frozen. */
  make(values: readonly unknown[]): Record<string, unknown> {
    return fill(this.mould, values)
  }
}

/** The mould of an object or array of a frame with its marks; holes found are added to `found`. */
function mouldOf(object: object, found: number[]): Mould {
  const [names, holes, moulds, constants]: [string[], number[], (Mould | undefined)[], unknown[]] = [[], [], [], []]
  for (const [name, value] of Object.entries(object)) {
    // Assigned as a member, it would set the prototype.
    if (name === '__proto__') throw new TypeError(name)
    const before = found.length
    const hole = typeof value === 'string' && value.startsWith(MARK) ? Number(value.slice(1)) : NONE
    if (hole !== NONE) found.push(hole)
    const mould = typeof value === 'object' && value !== null ? mouldOf(value, found) : undefined
    names.push(name)
    holes.push(hole)
    moulds.push(found.length > before ? mould : undefined)
    constants.push(found.length > before ? undefined : frozen(value))
  }
  return { isArray: Array.isArray(object), names, holes, moulds, constants }
}

/** A new object of a mould with these values; those inside it are frozen. */
function fill({ isArray, names, holes, moulds, constants }: Mould, values: readonly unknown[]): Record<string, unknown> {
  const made: any = isArray ? [] : {}
  for (let i = 0; i < names.length; i++) {
    const hole = holes[i]!
    const mould = moulds[i]
    made[names[i]!] = hole !== NONE ? values[hole] : mould ? Object.freeze(fill(mould, values)) : constants[i]
  }
  return made
}
