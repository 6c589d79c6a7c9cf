/**
 * Renders the results of the last whole run as one HTML page: `npm run bench:report`, and with `-- part` those of the last run with `--only` as another.
 * A page contains its styles and plots and fetches nothing.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ReportFiles, refuse, reportFilesOf } from './flags.ts'
import type { Row } from './measure.ts'
import type { Results } from './results.ts'
import { cells, HEAD } from './table.ts'

const escaped = (text: string): string => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`)

/** How much better we are: above 1 we win, even in rows where less is better. */
const gain = ({ ratio, sense }: Row): { median: number; least: number; most: number } =>
  sense === 'above' ? ratio : { median: 1 / ratio.median, least: 1 / ratio.most, most: 1 / ratio.least }
const needed = ({ floor, sense }: Row): number | undefined => (floor === undefined ? undefined : sense === 'above' ? floor : 1 / floor)

const LABEL = 330
const WIDTH = 860
const LINE = 22
const SCALE = [0.25, 0.5, 1, 2, 4, 8, 16, 32]
const [LOW, HIGH] = [Math.log2(0.2), Math.log2(40)]
/** To a tenth of a pixel. */
const x = (ratio: number): number =>
  Math.round(10 * (LABEL + ((Math.min(HIGH, Math.max(LOW, Math.log2(ratio))) - LOW) / (HIGH - LOW)) * (WIDTH - LABEL - 70))) / 10

/** One bar per row on a logarithmic scale from 1, with its spread as a thin line and its floor as a mark. The table below has all of it as text. */
function plot(group: string, rows: readonly Row[]): string {
  const height = rows.length * LINE + 26
  const grid = SCALE.map(
    (at) =>
      `<line class="${at === 1 ? 'even' : 'grid'}" x1="${x(at)}" x2="${x(at)}" y1="0" y2="${height - 22}"/><text class="tick" x="${x(at)}" y="${height - 8}">${at}×</text>`,
  )
  const bars = rows.map((row, i) => {
    const { median, least, most } = gain(row)
    const floor = needed(row)
    const y = i * LINE
    const state = row.ok === undefined ? 'free' : row.ok ? 'ok' : 'short'
    const label = [row.work, row.workload, row.limit].filter((part) => part !== undefined).join(', ')
    const [from, to] = [Math.min(x(1), x(median)), Math.max(x(1), x(median))]
    return (
      `<g><title>${escaped(cells(row).join('  '))}</title>` +
      `<text class="label" x="${LABEL - 8}" y="${y + 15}">${escaped(label)}</text>` +
      `<rect class="${state}" x="${from}" y="${y + 4}" width="${Math.max(1, to - from)}" height="14" rx="2"/>` +
      `<line class="spread" x1="${x(least)}" x2="${x(most)}" y1="${y + 11}" y2="${y + 11}"/>` +
      (floor === undefined ? '' : `<line class="floor" x1="${x(floor)}" x2="${x(floor)}" y1="${y + 1}" y2="${y + 21}"/>`) +
      `<text class="value" x="${Math.max(x(most), to) + 6}" y="${y + 15}">${median.toFixed(2)}×${row.ok === false ? ' missed' : ''}</text></g>`
    )
  })
  return `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(group)}: how many times faster, or smaller; the numbers are below">${grid.join('')}${bars.join('')}</svg>`
}

function table(rows: readonly Row[]): string {
  const body = rows.map(
    (row) =>
      `<tr class="${row.ok === false ? 'short' : ''}">${cells(row)
        .map((cell) => `<td>${escaped(cell)}</td>`)
        .join('')}</tr>`,
  )
  return `<table><thead><tr>${HEAD.map((cell) => `<th scope="col">${cell || 'verdict'}</th>`).join('')}</tr></thead><tbody>${body.join('')}</tbody></table>`
}

const style = `
:root { color-scheme: light dark; --ink: #1c2330; --soft: #6b7484; --line: #d9dee6; --paper: #fff; --ok: #2f9e6e; --short: #d9663a; --free: #5b7fc7 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --soft: #98a1b2; --line: #343b48; --paper: #171b22 } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 980px; margin: 2rem auto; padding: 0 1rem }
h2 { margin: 2.4rem 0 .4rem; font-size: 1.15rem } p, dl { color: var(--soft) } svg { width: 100%; height: auto }
table { border-collapse: collapse; font: 12.5px/1.4 ui-monospace, monospace; width: 100% } td, th { padding: .15rem .5rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap }
td:first-child, th:first-child { text-align: left } tr.short td:nth-child(10) { color: var(--short); font-weight: 700 } details { margin: .4rem 0 } summary { cursor: pointer; color: var(--soft) }
.label { font: 12px system-ui; text-anchor: end; fill: var(--ink) } .tick { font: 10.5px system-ui; text-anchor: middle; fill: var(--soft) } .value { font: 11px ui-monospace, monospace; fill: var(--ink) }
.grid { stroke: var(--line) } .even { stroke: var(--soft) } .spread { stroke: var(--ink); stroke-width: 1.5; opacity: .55 } .floor { stroke: var(--ink); stroke-width: 2.5 }
rect.ok { fill: var(--ok) } rect.short { fill: var(--short) } rect.free { fill: var(--free) }
.key span { display: inline-block; margin-right: 1.2rem } .key i { display: inline-block; width: 1em; height: .8em; border-radius: 2px; margin-right: .4em }
.tiles { display: flex; gap: 1rem; flex-wrap: wrap } .tiles div { border: 1px solid var(--line); border-radius: 8px; padding: .6rem 1rem } .tiles b { display: block; font-size: 1.4rem }`

function page({ rows, machine, data, cacheMib, memoryMib, mode, seconds, pace }: Results): string {
  const groups = [...new Set(rows.map(({ group }) => group))]
  const judged = rows.filter(({ ok }) => ok !== undefined)
  const reached = judged.filter(({ ok }) => ok)
  const facts = Object.entries(data)
    .map(([name, count]) => `${count.toLocaleString('en-US')} ${name}`)
    .join(', ')
  const given = [
    ...(cacheMib === undefined ? [] : [`our cache has ${cacheMib} MiB`]),
    ...(memoryMib === undefined ? [] : [`each process has ${memoryMib} MiB of memory, with the page cache of its files`]),
  ]
  const sections = groups.map((group) => {
    const mine = rows.filter((row) => row.group === group)
    return `<h2 id="${escaped(group.replace(/\W+/g, '-'))}">${escaped(group)}</h2><p>against ${escaped([...new Set(mine.map(({ peer }) => peer))].join('; '))}</p>${plot(group, mine)}<details><summary>numbers</summary>${table(mine)}</details>`
  })
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>ledger-folio benchmark</title><style>${style}</style>
<h1>ledger-folio, side by side</h1>
<p>Each bar shows how many times faster (smaller) we are than the peer: the median of ${pace.rounds} interleaved rounds. Thin line: minimum to maximum. Thick mark: the floor. The scale is logarithmic; 1× is a tie.</p>
<div class="tiles"><div><b>${reached.length} of ${judged.length}</b>floors reached</div><div><b>${mode}</b>run, ${seconds} s</div><div><b>${machine['cores']} cores</b>${escaped(String(machine['cpu']))}, ${machine['memoryGB']} GB, Node ${escaped(String(machine['node']))}</div></div>
<p>${[facts, ...given].join('; ')}.</p>
<p class="key"><span><i style="background:var(--ok)"></i>floor reached</span><span><i style="background:var(--short)"></i>floor missed</span><span><i style="background:var(--free)"></i>no floor set</span></p>
${sections.join('\n')}
</html>
`
}

/** The ratios of each work in one line of Markdown, with the floors behind them, for the README. */
function markdown(rows: readonly Row[]): string {
  const cell = (row: Row | undefined): string => {
    if (!row) return ''
    const floor = row.floor === undefined ? '' : ` (${row.sense === 'above' ? '≥' : '≤'} ${row.floor})`
    const share = row.ofBare === undefined ? '' : `, ${row.ofBare.median.toFixed(2)} of bare`
    return `${row.ok ? '**' : ''}${row.ratio.median.toFixed(2)}${row.ok ? '**' : ''}${floor}${share}`
  }
  const paged = rows.filter(({ workload }) => workload !== undefined)
  const names = [...new Set(paged.map(({ work }) => work))]
  const lines = names.map((work) => {
    const find = (workload: string, limit: number): string =>
      cell(paged.find((row) => row.work === work && row.workload === workload && row.limit === limit))
    return `| ${work} | ${find('uniform', 10)} | ${find('uniform', 200)} | ${find('recent', 10)} | ${find('recent', 200)} |`
  })
  const others = rows.filter(({ workload }) => workload === undefined)
  return [
    '| work | uniform 10 | uniform 200 | recent 10 | recent 200 |',
    '|---|---|---|---|---|',
    ...lines,
    '',
    '| work | ours | peer | ratio |',
    '|---|---|---|---|',
    ...others.map((row) => {
      const cut = cells(row)
      return `| ${row.work}${row.limit === undefined ? '' : `, ${row.limit}`} | ${cut[3]} ${row.unit} | ${cut[4]} ${row.unit} (${row.peer}) | ${cell(row)} |`
    }),
    '',
  ].join('\n')
}

function filesOf(): ReportFiles {
  try {
    return reportFilesOf(process.argv.slice(2))
  } catch (error) {
    return refuse(error)
  }
}

const folder = join(import.meta.dirname, '..', 'results')
const files = filesOf()
const source = join(folder, files.results)
if (!existsSync(source)) {
  const others = readdirSync(folder).filter((name) => name.endsWith('.json'))
  const other = others.length === 0 ? '' : `. There are: ${others.join(', ')}`
  console.error(
    `There is no bench/results/${files.results} yet: npm run bench -- --quick writes latest.json, --only part.json, --against its own${other}`,
  )
  process.exit(1)
}
const results = JSON.parse(readFileSync(source, 'utf8')) as Results
writeFileSync(join(folder, files.page), page(results))
writeFileSync(join(folder, files.table), markdown(results.rows))
console.log(`Written: bench/results/${files.page}, and the ratios alone in bench/results/${files.table}`)
