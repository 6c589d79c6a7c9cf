/** The command line `folio`: the commands, and how their errors are handled. */
import manifest from '../../package.json' with { type: 'json' }
import { FolioCommand, nameOf } from './command.ts'
import { bench } from './commands/bench.ts'
import { check } from './commands/check.ts'
import { copy } from './commands/copy.ts'
import { exportCloses } from './commands/export.ts'
import { generate } from './commands/generate.ts'
import { get } from './commands/get.ts'
import { info } from './commands/info.ts'
import { ingest } from './commands/ingest.ts'
import { prune } from './commands/prune.ts'
import { repair } from './commands/repair.ts'
import { rollback } from './commands/rollback.ts'
import { serve } from './commands/serve.ts'
import { verify } from './commands/verify.ts'
import { Begun } from './errors.ts'
import { exitHelp, exitOf, exits } from './exit.ts'
import { explain } from './explain.ts'
import { type Io, isStop, note, print, tell } from './io.ts'
import { withoutUser } from './text.ts'

/** Runs the work of a command, which resolves to the exit code. */
export type Run = (work: (io: Io) => Promise<number>) => Promise<void>

/** The commands, in the order of the help. */
const commands = [ingest, serve, get, info, verify, repair, exportCloses, copy, rollback, prune, check, bench, generate]

const help = `
Examples:
  folio generate --ledgers 1000 --seed 7 | folio ingest --data ./ledgers -
  folio serve --data ./ledgers
  folio get '/transactions?order=desc&limit=1' --data ./ledgers
${exitHelp}`

/**
 * Runs one command line.
 * @param argv the arguments after the program's name
 * @returns the exit code; errors were written to `io.stderr`, one line each; where a command had begun to change something, followed by what it had done
 */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  let exit: number = exits.ok
  let shown = ''
  const program = new FolioCommand('folio')
    .description(manifest.description)
    .version(manifest.version, '--version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help of a command')
    .addHelpText('after', help)
    .showHelpAfterError('(see folio --help and folio <command> --help)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => {
        shown += text
      },
      writeErr: (text) => io.stderr.write(text),
      outputError: (text, write) => write(withoutUser(text.replace(/^error: /, 'folio: '))),
      getOutHelpWidth: () => 100,
      getErrHelpWidth: () => 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
  for (const command of commands) {
    command(program, async (work) => {
      exit = await work(io)
    }).helpOption('-h, --help', 'show help')
  }
  try {
    const name = argv[0] === 'help' ? argv[1] : argv[0]
    const isUnknown = name !== undefined && !/^-|^help$/.test(name) && !program.commands.some((command) => command.name() === name)
    if (argv[0] !== undefined && isEarly(program, argv[0])) program.error(`error: option '${nameOf(argv[0])}' comes after the command`)
    // Help of a command that does not exist would be that of all, without a word of why.
    await program.parseAsync(isUnknown || name === 'help' ? [name] : argv, { from: 'user' })
    return exit
  } catch (ended) {
    const [thrown, begun] = ended instanceof Begun ? [ended.cause, ended.message] : [ended, '']
    // Help that was asked for is an answer as any other: where it cannot be written, that is the error.
    const error =
      shown === ''
        ? thrown
        : await print(io, shown).then(
            () => thrown,
            (failure) => failure,
          )
    // Work that a signal cuts short throws the signal's name.
    if (isStop(io, error)) return exitOf(io.signal)
    const { exit: failed, line } = explain(error)
    if (line !== undefined) note(io, line)
    if (line !== undefined && io.env.FOLIO_DEBUG) tell(io, `${inspected(error)}\n`)
    if (line !== undefined) tell(io, begun)
    return failed
  }
}

/** Whether a word before any command is an option of one: the program itself has nearly none, and would not know it. */
const isEarly = (program: FolioCommand, word: string): boolean =>
  word.startsWith('--') && !program.takes(word) && program.commands.some((command) => (command as FolioCommand).takes(word))

const inspected = (error: unknown): string => {
  const { stack, cause } = error as Error
  return (stack ?? String(error)) + (cause === undefined ? '' : `\ncaused by ${inspected(cause)}`)
}
