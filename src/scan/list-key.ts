/**
 * Which posting list: its index and its key, and the names under which it is found in memory. Whoever reads a list more than once keeps the object: a
 * name that is put together anew has to be hashed anew at each look-up, which takes longer than finding ten records in it.
 */
import type { Index } from '../query.ts'
import type { Element } from '../tuple.ts'

/** How many names of pages are kept: of a list that is read over and over, mostly the same few. */
const KEPT = 4

export class ListKey {
  readonly index: Index
  readonly key: readonly Element[]
  /** The name of the list within its index. */
  readonly name: string
  /** The name under which its edge is cached. */
  readonly id: string
  private pageIds: string[] | undefined
  /** Which page each of them names, as far as numbers tell: level and number. */
  private pages: number[] | undefined

  constructor(index: Index, key: readonly Element[]) {
    this.index = index
    this.key = key
    this.name = nameOf(key)
    this.id = `${index.tag} ${this.name}`
    this.pageIds = undefined
    this.pages = undefined
  }

  /** The name under which a sealed page is cached. Names of lists begin with a digit. */
  pageId(level: number, page: number): string {
    this.pages ??= new Array<number>(2 * KEPT).fill(-1)
    this.pageIds ??= new Array<string>(KEPT).fill('')
    const slot = page % KEPT
    const { pages, pageIds } = this
    if (pages[2 * slot] !== level || pages[2 * slot + 1] !== page) {
      pages[2 * slot] = level
      pages[2 * slot + 1] = page
      pageIds[slot] = `/${level}/${page} ${this.id}`
    }
    return pageIds[slot]!
  }
}

/**
 * The name of a list within its index, whose keys all have the same number of elements. A key of one text is its own name: that string exists
 * already, and its hash is known.
 */
export function nameOf(key: readonly Element[]): string {
  if (key.length === 1) return textOf(key[0]!)
  let name = ''
  for (const element of key) {
    const text = textOf(element)
    name += `${text.length}:${text}`
  }
  return name
}

const textOf = (element: Element): string => (typeof element === 'string' ? element : String(element))
