/**
 * Prints the rows as a text table.
 */
import type { Row } from './measure.ts'

const number = (value: number): string =>
  value >= 1000
    ? Math.round(value).toLocaleString('en-US')
    : value >= 100
      ? value.toFixed(0)
      : value >= 10
        ? value.toFixed(1)
        : value.toFixed(2)

export const verdict = ({ ok }: Row): string => (ok === undefined ? '' : ok ? 'ok' : 'SHORT')

export const HEAD = ['work', 'workload', 'limit', 'ours', 'peer', 'unit', 'ratio', 'spread', 'floor', '', 'CPU ratio', 'of bare']

export function cells(row: Row): string[] {
  const { work, workload = '', limit = '', ours, theirs, unit, ratio, floor, sense, ourCpu, theirCpu, ofBare } = row
  const times = sense === 'above' ? '×' : ''
  return [
    work,
    workload,
    String(limit),
    number(ours.median),
    number(theirs.median),
    unit,
    `${ratio.median.toFixed(2)}${times}`,
    `${ratio.least.toFixed(2)}–${ratio.most.toFixed(2)}`,
    floor === undefined ? '' : `${sense === 'above' ? '≥' : '≤'} ${floor}`,
    verdict(row),
    ourCpu && theirCpu ? `${(theirCpu / ourCpu).toFixed(2)}×` : '',
    ofBare ? ofBare.median.toFixed(2) : '',
  ]
}

const RIGHT = new Set([2, 3, 4, 6, 7, 8, 10, 11])

const WIDTHS = [40, 8, 5, 9, 9, 8, 8, 13, 7, 6, 9, 7]
const line = (list: readonly string[]): string =>
  list
    .map((cell, i) => (RIGHT.has(i) ? cell.padStart(WIDTHS[i]!) : cell.padEnd(WIDTHS[i]!)))
    .join(' ')
    .trimEnd()

/** Prints each row as it comes, with a heading for each group. */
export class Table {
  private group = ''
  private readonly print: (line: string) => void

  constructor(print: (line: string) => void) {
    this.print = print
  }

  row(row: Row): void {
    if (row.group !== this.group) {
      this.print(`\n${row.group}, against ${row.peer}`)
      this.print(line(HEAD))
      this.group = row.group
    }
    this.print(line(cells(row)))
  }
}
