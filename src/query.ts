/**
 * Queries are values. A catalogue row says what is asked for; the typed API, the HTTP routes, the OpenAPI document, the tables of the docs and the
 * property tests are derived from the rows.
 *
 * A {@link Resource} is a kind of record, kept in a log in order of position; an {@link Index} files the records of a log under keys; {@link One}
 * finds a record, {@link List} a range of an index. **Invariant:** a list is a set of posting lists that must all name a record, cut to one span of
 * positions, so that all lists share the paging code. The one exception is the offers of an account, which are those of the current book.
 */
import type { KeyName, Names, ParamTypes, PathValues, PlaceName } from './params.ts'
import type { Element } from './tuple.ts'

/** A record as decoded from its stored text, including its open members. */
export type OpenRecord = { readonly [member: string]: any }

/** Where decoded members came from. */
export interface StoredSource {
  /** The id in the record's token. */
  readonly id: bigint
  /** The record's JSON text. */
  readonly text: string
}

/**
 * How records are kept: in a log, in order of position, each for good; as the state after the newest ledger; or as no more than a name, which exists
 * once a record mentions it. **What is in no log may change with any ledger**, so no answer made of it is final.
 */
type Kept = 'log' | 'state' | 'name'

/** What the file of a resource says of it. `N` is its name, `C` the names of its columns, `K` how it is kept. */
interface ResourceSpec<R, N extends string, C extends string, K extends Kept> {
  readonly name: N
  readonly kept: K
  /** Part of every key of its log. **Never reused.** 0 for kinds that have no log. */
  readonly tag: number
  /** A block holds 2^shift records, a number chosen to bring blocks near 8 KiB. */
  readonly shift: number
  /** Tokens are `<operation id>-<index>` rather than `<id>`. */
  readonly indexed: boolean
  /**
   * The side columns by name, numbered 0, 1, 2, …: stored beside the text of each record, with a dictionary per block. They are what links and derived
   * members need without parsing.
   */
  readonly columns: { readonly [Name in C]: number }
  /** For records with two faces. */
  readonly faces?: {
    /** For each side column, the one that takes its place in the other face. */
    readonly turned: readonly number[]
    /** The column by which a record tells which way it faces: it is less than its counterpart, or not. */
    readonly by: number
  }
  /** The side column with the hash by which records are found. */
  readonly hashColumn?: number
  /** Gives decoded members their types (64-bit integers as bigint). */
  decode(members: OpenRecord, source: StoredSource): R
}

export interface Resource<R = unknown, N extends string = string, C extends string = string, K extends Kept = Kept>
  extends ResourceSpec<R, N, C, K> {
  /** The names of its columns, in their order. */
  readonly sides: readonly string[]
  /** Phantom: the record type. */
  readonly '~record'?: R
}

export const resource = <R, const N extends string, C extends string, const K extends Kept>(
  spec: ResourceSpec<R, N, C, K>,
): Resource<R, N, C, K> => ({
  ...spec,
  sides: Object.keys(spec.columns),
})

export interface Index<R = unknown> {
  readonly name: string
  readonly of: Resource<R>
  /** Part of every key of its posting lists. **Never reused.** */
  readonly tag: number
  /** The path parameter whose value selects the posting list; none for a partial index over all records. */
  readonly column?: KeyName
  /** It lists no more than another index of its log with the same column, so that nobody need look here for whether a value exists. */
  readonly partial?: boolean
  /** The keys follow from the side columns alone, so filing a stored record again parses nothing. */
  readonly bySides?: boolean
  /** The keys that a record is filed under. @param sides its side columns, in the order in which its resource names them */
  keys(record: OpenRecord, sides: readonly string[]): Iterable<readonly Element[]>
}

/** An index with a column. */
export interface KeyIndex<R, N extends KeyName> extends Index<R> {
  readonly column: N
}

/** How the record is found follows from the one parameter of the path. `O` is the resource itself, with the names of its columns. */
export interface One<R = unknown, V = any, O extends Resource<R> = Resource<R>> {
  readonly kind: 'one'
  readonly path: string
  readonly of: O
  readonly '~values'?: V
}

/** Query-string filters of a list: `F` is their typed form. */
export interface Filters<R, F> {
  /** The names of the typed form. */
  readonly members: readonly (keyof F & string)[]
  /** Wire names in declared order, for links and documentation, each with its schema. */
  readonly names: Readonly<Record<string, { readonly type: string; readonly description: string; readonly enum?: readonly string[] }>>
  /** Reads the query string; `text` gives '' for an absent parameter. @throws BAD_REQUEST */
  parse(text: (name: string) => string): F
  /** Writes the filters as query parameters, for links. */
  format(values: F): Readonly<Record<string, string>>
  /** The typed form by itself: whoever gave it may change it, or have its members from a class. */
  copy(values: F): F
  /** What the filters select from a list. @throws BAD_REQUEST for typed values that no text could have produced */
  pick(values: F): Picked<R>
}

/** Which face of records with two faces to show, if one was asked for. */
export type Facing = 'lesser' | 'greater' | undefined

export interface Picked<R> {
  /** The posting lists that must all hold a record. */
  readonly lists: readonly (readonly [index: Index<R>, key: readonly Element[]])[]
  /** The view asked for, if any: the face of each record whose column {@link Resource.faces} goes by is the lesser one, or the other face. */
  readonly facing: Facing
}

/** When a list is not found: if its parent does not exist, if there is nothing in it at all, or never. */
export type Missing = 'parent' | 'empty' | 'never'

export interface List<R = unknown, V = any, Live extends boolean = boolean, O extends Resource<R> = Resource<R>> {
  readonly kind: 'list'
  readonly path: string
  readonly of: O
  /** The index in which the path's own parameter selects a posting list; without it, the list is the whole log. */
  readonly by?: Index<R>
  readonly filters?: Filters<R, any>
  readonly missing: Missing
  /** May be streamed. */
  readonly live: Live
  readonly '~values'?: V
}

export type Query = One | List
export type RecordOf<Q> = Q extends { readonly of: Resource<infer R> } ? R : never
export type ValuesOf<Q> = Q extends { readonly '~values'?: infer V } ? NonNullable<V> : never

type CheckedPath<Path extends string> =
  Names<Path> extends keyof ParamTypes ? Path : `unknown parameter: ${Exclude<Names<Path>, keyof ParamTypes> & string}`

export const one = <R, N extends string, C extends string, const Path extends string>(
  path: CheckedPath<Path> & Path,
  of: Resource<R, N, C>,
): One<R, PathValues<Path>, Resource<R, N, C>> => ({ kind: 'one', path, of })

/** What a list is queried with: nothing, if neither its path nor a filter names anything. */
type ListValues<Path extends string, F> = unknown extends F
  ? [Names<Path>] extends [never]
    ? Record<string, never>
    : PathValues<Path>
  : PathValues<Path> & F

type ColumnOf<By> = By extends { readonly column: infer N } ? N : never

/** Each parameter of a path selects a span or a list: a key that no index is given for would not be looked up, nor one that the path does not have. */
type ListPath<Path extends string, K extends Kept, By> = [Exclude<ColumnOf<By>, Names<Path>>] extends [never]
  ? [Exclude<Names<Path>, PlaceName | (K extends 'state' ? KeyName : ColumnOf<By>)>] extends [never]
    ? Path
    : `needs an index by ${Exclude<Names<Path>, PlaceName> & string}`
  : `has no parameter ${Exclude<ColumnOf<By>, Names<Path>> & string}`

export function list<
  R,
  N extends string,
  C extends string,
  K extends Kept,
  const Path extends string,
  By extends Index<R> = never,
  F = unknown,
  const Live extends boolean = false,
>(
  path: CheckedPath<Path> & ListPath<Path, K, By> & Path,
  of: Resource<R, N, C, K>,
  spec: { readonly by?: By; readonly filters?: Filters<R, F>; readonly missing?: Missing; readonly live?: Live } = {},
): List<R, ListValues<Path, F>, Live, Resource<R, N, C>> {
  const missing = path.includes('{') ? 'parent' : 'never'
  return { kind: 'list', path, of, missing, ...spec, live: (spec.live ?? false) as Live }
}
