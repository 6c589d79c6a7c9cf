/** The exit codes. */

export const exits = {
  ok: 0,
  refused: 1,
  usage: 2,
  store: 3,
  answer4xx: 4,
  answer5xx: 5,
  listen: 6,
  broken: 7,
  damaged: 8,
  defect: 70,
  interrupted: 130,
  terminated: 143,
  unread: 141,
} as const

export const exitHelp = `
Exit codes:
  0    done
  1    the input was refused or cannot be read, ledgers before it stay; or the output cannot be written;
       bench: the stores cannot be compared; check: most was left out
  2    wrong usage
  3    the store cannot be opened, or failed
  4    get: the answer is a 4xx problem
  5    get: the answer is a 5xx problem
  6    serve: the address cannot be listened on
  7    check: the service breaks a law
  8    verify, repair, copy: the store is damaged; copy: the digests differ
  70   a bug of folio
  130  stopped by SIGINT before the end, or 143 by SIGTERM; serve ends with 0 then
  141  nobody reads the output any more

FOLIO_DEBUG=1 shows where an error came from.`

/** The exit code of a command that a signal cut short. */
export const exitAt = (signal: unknown): number => (signal === 'SIGTERM' ? exits.terminated : exits.interrupted)

/** The exit code of a command that ran to its end, or was stopped by a signal. */
export const exitOf = ({ aborted, reason }: AbortSignal): number => (aborted ? exitAt(reason) : exits.ok)
