/** Metrics in the text format of Prometheus. */
import type { Ledger } from '../../src/index.ts'
import type { RenderStats } from './renderer.ts'
import type { Streams } from './streams.ts'

export class Counters {
  /** Responses by class of status, from 1xx. */
  readonly classes: number[] = [0, 0, 0, 0, 0]
  bytes = 0

  count(status: number, bytes: number): void {
    this.classes[Math.floor(status / 100) - 1]!++
    this.bytes += bytes
  }
}

type Sample = readonly [labels: string, value: number]

const metric = (name: string, type: 'counter' | 'gauge', help: string, samples: readonly Sample[]): string =>
  `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${samples.map(([labels, value]) => `${name}${labels} ${value}\n`).join('')}`

export function metricsText(ledger: Ledger, { classes, bytes }: Counters, stats: RenderStats, streams: Streams): string {
  const { head } = ledger
  return [
    metric(
      'folio_http_responses_total',
      'counter',
      'Responses by class of status.',
      classes.map((count, i) => [`{class="${i + 1}xx"}`, count]),
    ),
    metric('folio_http_response_body_bytes_total', 'counter', 'Bytes of response bodies, event streams among them.', [
      ['', bytes + streams.bytes],
    ]),
    metric('folio_rendered_blocks_total', 'counter', 'Blocks of records rendered whole and kept.', [['', stats.blocks]]),
    metric('folio_rendered_runs_total', 'counter', 'Runs of records served from kept blocks.', [['', stats.hits]]),
    metric('folio_rendered_records_total', 'counter', 'Records rendered one by one.', [['', stats.records]]),
    metric('folio_ledger_last', 'gauge', 'Sequence of the newest ledger.', [['', head?.last ?? 0]]),
    metric('folio_ledger_oldest', 'gauge', 'Sequence of the oldest ledger held.', [['', head?.oldest ?? 0]]),
    metric('folio_poisoned', 'gauge', 'Whether nothing can be appended: a write has failed, or records are damaged.', [
      ['', Number(ledger.poisoned)],
    ]),
    metric('folio_unreachable', 'gauge', 'Whether the store, which processes share, could not be read at the last look.', [
      ['', Number(ledger.unreachable)],
    ]),
    metric('folio_streams_open', 'gauge', 'Event streams that are open.', [['', streams.open.size]]),
    metric('folio_stream_events_total', 'counter', 'Records sent as events.', [['', streams.events]]),
    metric('folio_streams_cut_total', 'counter', 'Event streams ended because their reader took nothing for too long.', [
      ['', streams.cut],
    ]),
    metric('folio_stream_lag_ledgers', 'gauge', 'Ledgers that the event stream furthest behind has still to be sent.', [['', streams.lag]]),
    metric('folio_streams_waiting', 'gauge', 'Streams that have caught up.', [['', ledger.waitingStreams]]),
  ].join('')
}
