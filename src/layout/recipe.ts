/**
 * Recipes: how the texts of a frame become records without being parsed. What stands between the holes says once for all which members there are, in
 * which order, and which holes are strings and which numbers; so a record is made of the values in the holes.
 *
 * **Invariant:** a recipe gives what `JSON.parse` gives for `{text}`, where the values hold neither quotes nor backslashes and no number that it would
 * change. Constant objects and arrays of a record are shared by all records of the frame, and frozen.
 */
import { frozen } from '../json.ts'

const HOLE = '\u0000'
/** Stands for the n-th hole where a frame is parsed, and how it is written there. */
const MARK = '\u0001'
const MARKED = '\\u0001'
const QUOTE = 34

/** An object or array that holes are in: those of its members that differ from record to record are set one by one. */
interface Mould {
  readonly template: Readonly<Record<string, unknown>> | readonly unknown[]
  readonly names: readonly string[]
  /** What each of the named members holds: the value of a hole, or an object of its own. */
  readonly parts: readonly (number | Mould)[]
}

export class Recipe {
  /** Of each hole: it is the inside of a string, rather than a number. */
  readonly isText: readonly boolean[]
  private readonly mould: Mould

  private constructor(isText: readonly boolean[], mould: Mould) {
    this.isText = isText
    this.mould = mould
  }

  /** @param frame members without braces; none where it is not clear where its holes are */
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
      // Of members with one name the last one counts: then a hole is nowhere.
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

/** The mould of an object or array of a frame with its marks; holes that were met are added to `found`. */
function mouldOf(object: object, found: number[]): Mould {
  const template: Record<string, unknown> = Array.isArray(object) ? ([] as any) : {}
  const names: string[] = []
  const parts: (number | Mould)[] = []
  for (const [name, value] of Object.entries(object)) {
    // Set as a member it would be the prototype.
    if (name === '__proto__') throw new TypeError(name)
    const part = partOf(value, found)
    if (part === undefined) template[name] = frozen(value)
    else {
      template[name] = undefined
      names.push(name)
      parts.push(part)
    }
  }
  return { template, names, parts }
}

/** What a member of a frame is: a hole, or a mould where there are holes in it; undefined where there are none. */
function partOf(value: unknown, found: number[]): number | Mould | undefined {
  if (typeof value === 'string' && value.startsWith(MARK)) {
    const hole = Number(value.slice(1))
    found.push(hole)
    return hole
  }
  if (typeof value !== 'object' || value === null) return undefined
  const before = found.length
  const mould = mouldOf(value, found)
  return found.length > before ? mould : undefined
}

/** A new object of a mould with these values; those inside it are frozen. */
function fill({ template, names, parts }: Mould, values: readonly unknown[]): Record<string, unknown> {
  const made: any = Array.isArray(template) ? template.slice() : { ...template }
  for (let i = 0; i < names.length; i++) {
    const part = parts[i]!
    made[names[i]!] = typeof part === 'number' ? values[part] : Object.freeze(fill(part, values))
  }
  return made
}
