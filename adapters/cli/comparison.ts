/** How a comparison of stores is shown: what was measured and where, a line for each row, and what the signs mean. */
import { availableParallelism, cpus, totalmem } from 'node:os'
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
  readonly node: string
  readonly machine: Readonly<Record<'platform' | 'cpu', string> & Record<'cores' | 'memoryGB', number>>
}

export const here = (): Pick<Facts, 'node' | 'machine'> => ({
  node: process.versions.node,
  machine: {
    platform: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGB: Math.round(totalmem() / 2 ** 30),
  },
})

function headOf({ ledgers, known, data, seed, limited, rounds, runMs, node, machine }: Facts): string {
  const input = data === '-' ? 'standard input' : data
  const origin = input === undefined ? `generated from seed ${seed}` : `${limited ? 'the first ' : ''}of ${input}`
  const more = limited ? ', where --ledgers ended reading' : ''
  const again = known > 0 ? `, ${known} more were held already` : ''
  return [
    `${countOf(ledgers, 'ledger')}, ${origin}${more}${again}; ${rounds} rounds of ${runMs} ms or more`,
    `Node ${node}, ${machine.platform}, ${machine.cores} × ${machine.cpu}, ${machine.memoryGB} GB`,
  ].join('\n')
}

const legend = `n×: how many times the first store's, the median of the rounds, with the least and the most in brackets
~n×: cannot be told from 1×: too many rounds lie on either side of it, or there are fewer than 7
`

const shown = (figure: number | undefined): string =>
  figure === undefined ? '-' : figure >= 100 ? figure.toFixed(0) : figure >= 10 ? figure.toFixed(1) : figure.toFixed(2)

const span = ([least, most]: Span): string => ` (${least.toFixed(2)} to ${most.toFixed(2)})`

/** Costs, which are shown below the row of their work. */
const costs: readonly Row['unit'][] = ['calls', 'KB']

/** Behind the figure of a store that is not the first. */
function timesOf({ figures, ratio, alike }: Row, at: number): string {
  const [figure, first] = [figures[at], figures[0]]
  const times = ratio?.[at] ?? (figure !== undefined && first ? figure / first : undefined)
  return times === undefined ? '' : ` ${alike?.[at] ? '~' : ''}${times.toFixed(2)}×`
}

export function table(facts: Facts, stores: readonly string[], rows: readonly Row[]): string {
  const column = (text: string, at: number, behind = ''): string => {
    const wide = stores[at]!.length + 2
    return at > 0 ? text.padStart(Math.max(17, wide)) + behind.padEnd(17) : text.padStart(Math.max(10, wide))
  }
  const lines = rows.map((row) => {
    const cells = row.figures.map((figure, at) =>
      at > 0 ? column(shown(figure) + timesOf(row, at), at, row.ratios && span(row.ratios[at]!)) : column(shown(figure), at),
    )
    return `${`${costs.includes(row.unit) ? '  ' : ''}${row.name}`.padEnd(34)}${row.unit.padEnd(6)}${cells.join('')}`.trimEnd()
  })
  const names = `${''.padEnd(40)}${stores.map((store, at) => column(store, at)).join('')}`.trimEnd()
  return `${[headOf(facts), '', names, ...lines].join('\n')}\n${stores.length > 1 ? `\n${legend}` : ''}`
}
