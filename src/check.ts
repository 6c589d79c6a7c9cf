/**
 * Checks of what callers hand in, above all of options, each by a rule. What is wrong would show only when it is used, which may be after something
 * was written; the text `'no'` would count as true, and an unknown option would be silently ignored.
 */
import { FolioError } from './errors.ts'

/** A parameter or option is at fault: `field` is its name, on the wire where it has one there; `reason` says what it must be, `found` what it was. */
export const badRequest = (field: string, reason: string, found?: string): FolioError =>
  new FolioError('BAD_REQUEST', found === undefined ? { field, reason } : { field, reason, found })

/** Checks that an argument such as options or values is an object, and not null. @throws BAD_REQUEST if it is not, with what it must be */
export function checkObject<T extends object>(given: T, field: string, expected = 'an object, or nothing'): T {
  if (typeof given !== 'object' || given === null) throw badRequest(field, expected)
  return given
}

/** Makes something of what is handed in, at once, since that may be changed later; what it throws is thrown where the result is asked for. */
export function atOnce<T>(make: () => T): () => T {
  try {
    const made = make()
    return () => made
  } catch (error) {
    return () => {
      throw error
    }
  }
}

/** What a value of a kind is, in words and as a test. */
const kinds = {
  flag: { expected: 'true or false', fits: (value: unknown) => typeof value === 'boolean' },
  callback: { expected: 'a function', fits: (value: unknown) => typeof value === 'function' },
  object: { expected: 'an object', fits: (value: unknown) => typeof value === 'object' && value !== null },
  signal: {
    expected: 'an AbortSignal',
    // By what it has, since that of another realm is of another class.
    fits: (value: any) => typeof value?.aborted === 'boolean' && typeof value.addEventListener === 'function',
  },
} as const satisfies Record<string, Test>

/** A number, and its bounds. */
interface Range {
  readonly least?: number
  /** Default: no bound, so that `Infinity` is taken as well. */
  readonly most?: number
  /** Only whole numbers, and none beyond those that are exact. */
  readonly whole?: boolean
  /** What it counts: bytes, ledgers. */
  readonly of?: string
}

/** A text, and how long it is at least. */
interface Text {
  /** What it is, in words. */
  readonly text: string
  readonly least: number
}

/** What no other rule says, in words and as a function, which is called without `this`. */
interface Test {
  readonly expected: string
  readonly fits: (value: unknown) => boolean
  /** Given if no text fits: then one is reported as such. */
  readonly textless?: boolean
}

/** What a value must be: of a kind, a number in a range, a text, one of those listed, or what passes a test. */
export type Rule = keyof typeof kinds | Range | Text | readonly unknown[] | Test

/** The rule of an option that must be given. */
interface Needed<R = Rule> {
  readonly needed: R
}

type RuleOf<V> = [V] extends [boolean]
  ? 'flag'
  : number extends V
    ? Range
    : [V] extends [(...args: never) => unknown]
      ? 'callback'
      : [V] extends [AbortSignal]
        ? 'signal'
        : [V] extends [string]
          ? Text | readonly V[]
          : [V] extends [object]
            ? 'object'
            : readonly V[]

/** A rule for every option of `T`, none left out and none of another kind than its type. */
export type Rules<T> = {
  readonly [N in keyof Required<T>]: undefined extends T[N] ? RuleOf<Exclude<T[N], undefined>> | Test : Needed<RuleOf<T[N]> | Test>
}

const isList = (rule: Rule): rule is readonly unknown[] => Array.isArray(rule)

function inWords({ least, most, whole, of }: Range): string {
  const number = `a ${whole ? 'whole ' : ''}number${of === undefined ? '' : ` of ${of}`}`
  if (least === undefined) return number
  return most === undefined ? `${number}, ${least} or more` : `${number}${of === undefined ? '' : ','} from ${least} to ${most}`
}

interface Form extends Range, Partial<Test> {
  readonly form: 'number' | 'text' | 'list' | 'kind' | 'test'
  readonly expected: string
  readonly list?: readonly unknown[]
}

function formOf(rule: Rule): Form {
  if (typeof rule === 'string') return { form: 'kind', ...kinds[rule] }
  if (isList(rule)) return { form: 'list', expected: `${rule.slice(0, -1).join(', ')} or ${rule.at(-1)}`, list: rule }
  if ('fits' in rule) return { form: 'test', ...rule }
  if ('text' in rule) return { form: 'text', expected: rule.text, least: rule.least }
  return { form: 'number', expected: inWords(rule), ...rule }
}

/** A rule made ready. Of one shape, and without a call for numbers, texts and lists: each page is checked, in some 20 ns. */
export class Check {
  /** What a value must be, in words. */
  readonly expected: string
  private readonly form: Form['form']
  private readonly least: number
  private readonly most: number
  private readonly isWhole: boolean
  private readonly list: readonly unknown[]
  private readonly passes: Test['fits']
  private readonly takesText: boolean

  constructor(rule: Rule) {
    const { form, expected, least = -Infinity, most = Infinity, whole = false, list = [], fits = () => false, textless } = formOf(rule)
    this.expected = expected
    this.form = form
    this.least = least
    this.most = most
    this.isWhole = whole
    this.list = list
    this.passes = fits
    this.takesText = !textless && ['text', 'list', 'test'].includes(form)
  }

  fits(value: unknown): boolean {
    if (this.form === 'number')
      return typeof value === 'number' && value >= this.least && value <= this.most && (!this.isWhole || Number.isSafeInteger(value))
    if (this.form === 'text') return typeof value === 'string' && value.length >= this.least
    if (this.form !== 'list') return this.passes(value)
    const { list } = this
    let at = 0
    while (at < list.length && list[at] !== value) at++
    return at < list.length
  }

  /** The error of a value that does not fit: it says the number or bigint that was given, and otherwise of which kind it is, if that is what is wrong. */
  wrong(name: string, value: unknown): FolioError {
    if (typeof value === 'string' && this.takesText) return badRequest(name, this.expected)
    if (typeof value === 'number' && this.form === 'number') return badRequest(name, this.expected, String(value))
    if (typeof value === 'bigint') return badRequest(name, this.expected, `${value}n`)
    return badRequest(name, this.expected, value === null ? 'null' : typeof value)
  }
}

/** The options of something, by their rules. Made once where they are checked often. */
export class OptionRules<T extends object> {
  readonly rules: Rules<T>
  private readonly of: string
  private readonly names: readonly string[]
  private readonly checks: readonly Check[]
  private readonly needed: readonly string[]

  /** @param of what takes these options, for the error */
  constructor(of: string, rules: Rules<T>) {
    const all = Object.entries<Rule | Needed>(rules)
    const isNeeded = (rule: Rule | Needed): rule is Needed => typeof rule === 'object' && 'needed' in rule
    this.rules = rules
    this.of = of
    this.names = all.map(([name]) => name)
    this.checks = all.map(([, rule]) => new Check(isNeeded(rule) ? rule.needed : rule))
    this.needed = all.flatMap(([name, rule]) => (isNeeded(rule) ? name : []))
  }

  /**
   * Checks that there are no options but these, and that each is what its rule says. One that is undefined counts as not given.
   * @returns a copy, since whoever gave them may change them; the functions in it are called with what was given as `this`
   * @throws BAD_REQUEST if one is unknown, or else the first, in the order of the rules, that is wrong, or needed and not given
   */
  check(options: T): T {
    if (!this.fit(options)) throw this.fault(options)
    const copy: Record<string, unknown> = {}
    for (const name of this.names) {
      const value = (options as Readonly<Record<string, unknown>>)[name]
      if (value !== undefined) copy[name] = typeof value === 'function' ? value.bind(options) : value
    }
    return copy as T
  }

  /** Whether {@link check} would throw nothing. */
  fit(options: T): boolean {
    if (typeof options !== 'object' || options === null) return false
    const { names, checks } = this
    const count = names.length
    let next = 0
    for (const name in options) {
      const value: unknown = options[name]
      if (value === undefined) continue
      // Mostly they come in this order.
      while (next < count && names[next] !== name) next++
      if (next === count) next = names.indexOf(name)
      if (next < 0 || !checks[next]!.fits(value)) return false
      next++
    }
    // The members of a class are not among those above.
    return (this.needed.length === 0 && options.constructor === Object) || this.fault(options) === undefined
  }

  private fault(options: T): FolioError | undefined {
    const { names, checks, needed, of } = this
    for (const name in checkObject(options, 'options', needed.length > 0 ? `an object that has ${needed.join(', ')}` : undefined))
      if (!names.includes(name) && options[name] !== undefined)
        return badRequest(name, `not an option of ${of}; the options are ${names.join(', ')}`)
    for (const [at, name] of names.entries()) {
      const value = (options as Readonly<Record<string, unknown>>)[name]
      if (value === undefined ? needed.includes(name) : !checks[at]!.fits(value)) return checks[at]!.wrong(name, value)
    }
    return undefined
  }
}
