/**
 * The renderers of a core, one for each base URL that requests name, and which of them has blocks finished.
 * **Invariant:** each core has the blocks of only one base URL finished, however many Host headers come in.
 */
import type { Profile } from './extended.ts'
import { Renderer, type RenderStats } from './renderer.ts'

/** Base URLs whose templates are kept. */
const KNOWN_BASES = 16
const HALVE_AFTER = 4096

/**
 * The number for each way of finishing records: renderers that write the same links share one, so that cores over one ledger share finished texts.
 */
const numbers = new Map<string, number>()
const MAX_NUMBERS = 64
let last = 0

function numberOf(what: string): number {
  let number = numbers.get(what)
  if (number === undefined) {
    // A number is never given a second meaning: a way that was forgotten gets a new one.
    if (numbers.size >= MAX_NUMBERS) numbers.clear()
    number = ++last
    numbers.set(what, number)
  }
  return number
}

/** The renderers of a core, by base URL; the cache keeps blocks finished for the one that is used most. */
export class Renderers {
  readonly stats: RenderStats = { blocks: 0, hits: 0, records: 0 }
  private readonly profile: Profile
  private readonly known = new Map<string, Renderer>()
  private main: Renderer | undefined
  private asked = 0

  constructor(profile: Profile) {
    this.profile = profile
  }

  /** @param base absolute, ASCII, without a trailing slash */
  for(base: string): Renderer {
    let renderer = this.known.get(base)
    if (!renderer) {
      if (this.known.size >= KNOWN_BASES) this.forget()
      renderer = new Renderer(base, this.profile, this.stats)
      this.known.set(base, renderer)
    }
    renderer.uses++
    if (++this.asked % HALVE_AFTER === 0) for (const one of this.known.values()) one.uses >>= 1
    if (!renderer.isMain) this.compete(renderer)
    return renderer
  }

  /** Takes over from the main base URL if that was used far less recently. */
  private compete(renderer: Renderer): void {
    if (this.main && renderer.uses <= 16 + 2 * this.main.uses) return
    if (this.main) this.main.id = 0
    renderer.id = numberOf(renderer.what)
    this.main = renderer
  }

  private forget(): void {
    for (const [base, renderer] of this.known) if (!renderer.isMain) this.known.delete(base)
  }
}
