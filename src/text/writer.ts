/**
 * Writes the members of a record as a text taken apart (`apart.ts`), straight into bytes: what `JSON.stringify` and cutting its result would give,
 * without a string for the whole, for its frame, or for any of its values.
 * **Invariant:** the result depends on the text alone: it is as {@link takeApart} of that text would be.
 */
import { isDeeper, isOfNoClass, longInteger, writeJson } from '../json.ts'
import type { Apart } from './apart.ts'
import type { Form, Rule } from './form.ts'
import { ARRAY, ARRAY_END, FALSE, forgetTooMany, type Name, NULL, nameOf, OBJECT, OBJECT_END, TRUE } from './names.ts'
import { MAX_ROW, Pen } from './pen.ts'

/** Deeper values are left to `JSON.stringify`. */
const MAX_DEPTH = 32

/** How deep a member may be nested: how deep Node can write, read and freeze a value depends on its release and on the stack that is left. */
export const MOST_NESTED = 1000

const hasOwn = Object.prototype.hasOwnProperty

/** True if `for … in` meets members of a prototype, too: only then need each be looked up to tell whether it is the object's own. */
function hasMembers(prototype: object | null): boolean {
  for (const _ in prototype) return true
  return false
}

export class TextWriter extends Pen {
  /** Writes a derived member, a string. */
  string(name: string, value: string): this {
    const { exact } = this
    this.name(nameOf(name))
    this.text(value)
    this.exact = exact
    return this
  }

  /** Writes a derived member, a number. */
  number(name: string, digits: string): this {
    this.name(nameOf(name))
    this.digits(digits)
    return this
  }

  /**
   * Writes members of the input as they are given, in order.
   * @param met called with each member that is derived or reserved, for the caller to refuse
   * @throws what reading or writing a value throws; the text is then to be abandoned
   */
  members(
    input: { readonly [member: string]: unknown },
    form: Form,
    met: (name: string, value: unknown, isReserved: boolean) => void,
  ): this {
    const inherits = hasMembers(Object.getPrototypeOf(input))
    let rule: Rule | undefined
    for (const name in input) {
      if (inherits && !hasOwn.call(input, name)) continue
      const value = input[name]
      if (value === undefined) continue
      rule = form.rule(name, rule)
      if (rule.kind === 'written') this.written(rule.written, rule.name, rule.change === undefined ? value : rule.change(value))
      else if (rule.kind !== 'omitted') met(name, value, rule.kind === 'reserved')
    }
    return this
  }

  /** Writes a member with any value. @throws as {@link members} */
  member(name: string, value: unknown): this {
    this.written(nameOf(name), name, value)
    return this
  }

  private written(known: Name, name: string, value: unknown): void {
    if (this.known && this.length < MAX_ROW / 2) {
      const { exact, length, simple } = this
      // Counted from the beginning of the text, since that may move.
      const written = this.at - this.start
      const cuts = this.cut - this.first
      this.name(known)
      if (this.value(value, 0)) return
      this.length = length
      this.at = this.start + written
      this.cut = this.first + cuts
      this.exact = exact
      this.simple = simple
    }
    const { json, exact } = writeJson({ [name]: value })
    if (isDeeper(json, MOST_NESTED + 1)) throw new RangeError(`${name} is nested more than ${MOST_NESTED} deep`)
    // Nothing that JSON can hold, such as a function.
    if (json === '{}') return
    this.exact ||= exact
    this.raw(`${this.at > this.start ? ',' : ''}${json.slice(1, -1)}`)
  }

  /** Writes a value; false for one that is not plain: then what was written is to be taken back. */
  private value(value: unknown, depth: number): boolean {
    switch (typeof value) {
      case 'string':
        this.text(value)
        return true
      case 'number':
        if (!Number.isFinite(value)) this.kind(NULL)
        else {
          if (value >= 1e15 || value <= -1e15) this.exact ||= longInteger.test(`:${value}`)
          this.digits(String(value))
        }
        return true
      case 'bigint':
        this.exact ||= longInteger.test(`:${value}`)
        this.digits(String(value))
        return true
      case 'boolean':
        this.kind(value ? TRUE : FALSE)
        return true
      case 'object':
        if (value === null) this.kind(NULL)
        else if (depth === MAX_DEPTH || this.length > MAX_ROW / 2) return false
        else return Array.isArray(value) ? this.array(value, depth) : this.object(value as Record<string, unknown>, depth)
        return true
      default:
        return false
    }
  }

  private object(value: Record<string, unknown>, depth: number): boolean {
    if (!isOfNoClass(value)) return false
    this.bracket(OBJECT, 123)
    for (const name in value) {
      if (!hasOwn.call(value, name)) continue
      const member = value[name]
      if (member === undefined) continue
      this.name(nameOf(name))
      if (this.length > MAX_ROW / 2 || !this.value(member, depth + 1)) return false
    }
    this.bracket(OBJECT_END, 125)
    return true
  }

  private array(value: readonly unknown[], depth: number): boolean {
    if (!isOfNoClass(value)) return false
    this.bracket(ARRAY, 91)
    for (let at = 0; at < value.length; at++) {
      if (at > 0) this.comma()
      if (this.length > MAX_ROW / 2 || !this.value(value[at], depth + 1)) return false
    }
    this.bracket(ARRAY_END, 93)
    return true
  }
}

/** One serves all, since a text is written in one go; only a value that appends another ledger while it is read begins a text within a text. */
const shared = new TextWriter()

/** Begins a text. Nothing known is forgotten before it ends. What may throw is done first: a text that is neither ended nor abandoned stays begun. */
export function write(): TextWriter {
  if (shared.isOpen) return new TextWriter().begin()
  forgetTooMany()
  return shared.begin()
}

/** Takes apart JSON members (or any JSON text without blanks). */
export const takeApart = (json: string): Apart => write().raw(json).end()
