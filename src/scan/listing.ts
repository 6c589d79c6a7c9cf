/** A list of the catalogue with its values: what a read of it needs to know that does not depend on history, worked out once for any number of reads. */
import type { Facing, List } from '../query.ts'
import { ListKey } from './list-key.ts'

export type Values = { readonly [name: string]: any }

/** The posting lists that must all name a record; none if the whole log is listed. */
interface SelectedLists {
  readonly lists: readonly ListKey[]
  /** The face of the records asked for, if any. */
  readonly facing: Facing
}

export class Listing<R = unknown> {
  readonly query: List<R>
  readonly values: Values
  private found: SelectedLists | undefined

  /** @param values checked, as far as the path names them, and never changed again */
  constructor(query: List<R>, values: Values) {
    this.query = query
    this.values = values
    this.found = undefined
  }

  /** @throws BAD_REQUEST if filters are malformed @internal */
  get picked(): SelectedLists {
    this.found ??= pick(this.query, this.values)
    return this.found
  }
}

function pick({ by, filters }: List, values: Values): SelectedLists {
  const picked = filters?.pick(values)
  const lists: ListKey[] = []
  if (by) lists.push(new ListKey(by, by.column === undefined ? [] : [values[by.column]]))
  if (picked) for (const [index, key] of picked.lists) lists.push(new ListKey(index, key))
  return { lists, facing: picked?.facing }
}
