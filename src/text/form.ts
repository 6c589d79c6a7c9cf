/** How the members of an input become those of a record. */
import { generation, type Name, nameOf } from './names.ts'

/** What is done with a member of the input. */
export interface Rule {
  /** The name of the member. */
  readonly of: string
  /** The rule that was asked for after this one, the last time. */
  next: Rule | undefined
  /** `derived` members are written anyway; `reserved` ones are those that no record may have. */
  readonly kind: 'written' | 'omitted' | 'derived' | 'reserved'
  /** The name under which it is written. */
  readonly name: string
  readonly written: Name
  /** What is written instead of its value. */
  readonly change: ((value: any) => unknown) | undefined
}

const RESERVED: readonly string[] = ['_links', '_embedded']

/** How the members of an input become those of a record of one kind. */
export class Form {
  private readonly derived: ReadonlySet<string>
  private readonly omitted: ReadonlySet<string>
  private readonly changes: ReadonlyMap<string, (value: any) => unknown>
  private readonly rename: (name: string) => string
  private readonly rules = new Map<string, Rule>()
  /** The rule that was asked for first, the last time. */
  private first: Rule | undefined
  private since = 0

  /**
   * @param derived members that follow from the place of the record; an input that has them must agree
   * @param omitted members of the input that are not written
   * @param changes what is written instead of the values of some members
   * @param rename the name under which a member is written
   */
  constructor(
    derived: readonly string[],
    omitted: readonly string[] = [],
    changes: Readonly<Record<string, (value: any) => unknown>> = {},
    rename = (name: string): string => name,
  ) {
    this.derived = new Set(derived)
    this.omitted = new Set(omitted)
    this.changes = new Map(Object.entries(changes))
    this.rename = rename
  }

  /**
   * The rule of a member. Members of records of a kind mostly come in the same order, so that the rule is looked up only where it is not the one that
   * came next before.
   * @param after the rule of the member before it, if there is one
   */
  rule(name: string, after: Rule | undefined): Rule {
    if (this.since !== generation) {
      this.rules.clear()
      this.first = undefined
      this.since = generation
    }
    const guess = after === undefined ? this.first : after.next
    if (guess?.of === name) return guess
    const rule = this.rules.get(name) ?? this.learn(name)
    if (after === undefined) this.first = rule
    else after.next = rule
    return rule
  }

  private learn(name: string): Rule {
    const shown = this.rename(name)
    const kind = RESERVED.includes(name) ? 'reserved' : this.derived.has(name) ? 'derived' : this.omitted.has(name) ? 'omitted' : 'written'
    const made: Rule = { of: name, next: undefined, kind, name: shown, written: nameOf(shown), change: this.changes.get(name) }
    this.rules.set(name, made)
    return made
  }
}
