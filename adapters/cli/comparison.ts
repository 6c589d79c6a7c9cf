/** How a comparison of stores is shown: what was measured and where, a line for each row, and what the signs mean. */
import { availableParallelism, cpus, tmpdir, totalmem } from 'node:os'
import manifest from '../../package.json' with { type: 'json' }
import type { Row, Span } from '../compare/index.ts'
import { countOf } from './io.ts'

/** What was measured, and where: without it, figures say nothing. */
export interface Facts {
  readonly ledgers: number
  /** Ledgers that were given again. */
  readonly known: number
  /** The file of the ledgers, or the seed from which they were generated. */
  readonly data?: string | undefined
  readonly seed?: string | undefined
  /** True if reading ended at `--ledgers`: the file may hold more. */
  readonly limited?: boolean
  readonly rounds: number
  readonly runMs: number
  /** Of each store, whether it outlives the process. */
  readonly persistent: readonly boolean[]
  /** Of this package. */
  readonly version: string
  readonly node: string
  /** When it began, in UTC. */
  readonly date: string
  /** In which the stores lay. */
  readonly directory: string
  readonly machine: Readonly<Record<'platform' | 'cpu', string> & Record<'cores' | 'memoryGB', number>>
}

export const here = (): Pick<Facts, 'version' | 'node' | 'date' | 'directory' | 'machine'> => ({
  version: manifest.version,
  node: process.versions.node,
  date: new Date().toISOString(),
  directory: tmpdir(),
  machine: {
    platform: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGB: Math.round(totalmem() / 2 ** 30),
  },
})

function headOf(facts: Facts, stores: readonly string[]): string {
  const { ledgers, known, data, seed, limited, rounds, runMs, persistent, version, node, date, directory, machine } = facts
  const input = data === '-' ? 'standard input' : data
  const origin = input === undefined ? `generated from seed ${seed}` : `${limited ? 'the first ' : ''}of ${input}`
  const more = limited ? ', where --ledgers ended reading' : ''
  const again = known > 0 ? `, ${known} more were held already` : ''
  return [
    `${countOf(ledgers, 'ledger')}, ${origin}${more}${again}; ${countOf(rounds, 'round')} of ${runMs} ms or more`,
    `Node ${node}, ${machine.platform}, ${machine.cores} × ${machine.cpu}, ${machine.memoryGB} GB`,
    `folio ${version}, ${date.replace('T', ' ').slice(0, 16)} UTC, in ${directory}`,
    ...stores.filter((_, at) => !persistent[at]).map((name) => `${name} is not durable: it keeps nothing when the process ends`),
  ].join('\n')
}

const legend = `n×: how many times the first store's: the median of the ratios of the rounds, with the least and the most in brackets;
    the figures, each the median of its own rounds, may have another ratio. Without brackets, it is that of the figures
~n×: cannot be told from 1×: too many rounds lie on either side of it, or there are fewer than 7
`

const shown = (figure: number | undefined, unit: Row['unit']): string =>
  figure === undefined
    ? '-'
    : unit === 'calls' && Number.isInteger(figure)
      ? String(figure)
      : figure >= 100
        ? figure.toFixed(0)
        : figure >= 10
          ? figure.toFixed(1)
          : figure.toFixed(2)

const span = ([least, most]: Span): string => ` (${least.toFixed(2)} to ${most.toFixed(2)})`

/** Counts, which are the same whenever they are measured. */
const counts: readonly Row['unit'][] = ['calls', 'KB', 'MB']

/** Behind the figure of a store that is not the first. A time without rounds has none: it could not be told from chance. */
function timesOf({ figures, ratio, alike, unit }: Row, at: number): string {
  const [figure, first] = [figures[at], figures[0]]
  const times = ratio?.[at] ?? (figure !== undefined && first && counts.includes(unit) ? figure / first : undefined)
  return times === undefined ? '' : ` ${alike?.[at] ? '~' : ''}${times.toFixed(2)}×`
}

/** Rows as JSON, each with a name that no other has: what more is said of different work has the same ones. */
export const identified = (rows: readonly Row[]): readonly object[] => rows.map((row) => ({ id: `${row.work}: ${row.name}`, ...row }))

/** The columns that fit beside each other, each time with those of the first store, to which the others are compared. */
function partsOf(widths: readonly number[], room: number): readonly (readonly number[])[] {
  const parts: number[][] = []
  let left = 0
  for (const [at, width] of widths.entries()) {
    if (at === 0) continue
    if (parts.length === 0 || left < width) {
      parts.push([0])
      left = room - LABELS - widths[0]!
    }
    parts.at(-1)!.push(at)
    left -= width
  }
  return parts.length === 0 ? [[0]] : parts
}

/** What stands to the left of the figures. */
const LABELS = 40

/** @param room how many characters of a line are shown, on a terminal */
export function table(facts: Facts, stores: readonly string[], rows: readonly Row[], room = Number.POSITIVE_INFINITY): string {
  const column = (text: string, at: number, behind = ''): string => {
    const wide = stores[at]!.length + 2
    return at > 0 ? text.padStart(Math.max(17, wide)) + behind.padEnd(17) : text.padStart(Math.max(10, wide))
  }
  const part = (columns: readonly number[]): string => {
    const lines = rows.map((row) => {
      const cells = columns.map((at) => {
        const figure = shown(row.figures[at], row.unit)
        return at > 0 ? column(figure + timesOf(row, at), at, row.ratios && span(row.ratios[at]!)) : column(figure, at)
      })
      return `${`${row.more ? '  ' : ''}${row.name}`.padEnd(34)}${row.unit.padEnd(6)}${cells.join('')}`.trimEnd()
    })
    const names = `${''.padEnd(LABELS)}${columns.map((at) => column(stores[at]!, at)).join('')}`.trimEnd()
    return [names, ...lines].join('\n')
  }
  const parts = partsOf(
    stores.map((_, at) => column('', at).length),
    room,
  )
  return `${[headOf(facts, stores), ...parts.map(part)].join('\n\n')}\n${stores.length > 1 ? `\n${legend}` : ''}`
}
