/** Pages that are derived from the code: what a page must be, and `UPDATE_DOCS=1` to make it so. */
import { readFileSync, writeFileSync } from 'node:fs'
import { expect } from 'vitest'

const root = new URL('../..', import.meta.url)
export const read = (path: string): string => readFileSync(new URL(path, root), 'utf8')

/** Checks that a page is what it should be. */
export function same(path: string, wanted: string): void {
  if (process.env['UPDATE_DOCS']) writeFileSync(new URL(path, root), wanted)
  expect(read(path)).toBe(wanted)
}

/** The text, in which each block of code that begins with the path of an example is replaced by that file. */
export const withExamples = (text: string): string =>
  text.replace(/```ts\n\/\/ (examples\/\S+)\n[\s\S]*?```/g, (_, path: string) => `\`\`\`ts\n// ${path}\n${read(path)}\`\`\``)

/** A table row. */
export const row = (...cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
