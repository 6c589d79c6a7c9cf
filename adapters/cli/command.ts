/** A command that reports wrong usage by its cause, since what follows from a mistake is no news, and whose help says which options are required. */
import { Command, type Help } from 'commander'

export class FolioCommand extends Command {
  override createCommand(name?: string): FolioCommand {
    return new FolioCommand(name)
  }

  override createHelp(): Help {
    const help = super.createHelp()
    const described = help.optionDescription
    help.optionDescription = (option) => `${described.call(help, option)}${option.mandatory ? ' (required)' : ''}`
    return help
  }

  override parseOptions(argv: string[]): ReturnType<Command['parseOptions']> {
    this.checkValues(argv)
    const parsed = super.parseOptions(argv)
    // Options that are missing would be reported first, also one that is only misspelt.
    if (parsed.unknown.some((word) => word !== '-h' && word !== '--help'))
      for (const option of this.options) option.makeOptionMandatory(false)
    // An unknown name is compared with those that are known; with its value, it would be like none of them.
    return this.commands.length > 0 ? parsed : { ...parsed, unknown: parsed.unknown.map(nameOf) }
  }

  /** The parser takes whatever follows for a value, also the next option; what was meant as one can be given as `--seed=--data`. */
  private checkValues(argv: readonly string[]): void {
    for (let at = 0; at < argv.length && argv[at] !== '--'; at++) {
      const option = this.options.find(({ long }) => long === argv[at])
      if (option?.required && this.takes(argv[++at]))
        this.error(`error: option '${option.flags}' argument missing`, { code: 'commander.optionMissingArgument' })
    }
  }

  /** Whether a word is one of its options. */
  takes(word = ''): boolean {
    const name = nameOf(word)
    return name === '--help' || this.options.some(({ long }) => long === name)
  }
}

/** `--data` of `--data=./ledgers`. */
export const nameOf = (word: string): string => word.replace(/^(--[^=]+)=.*$/s, '$1')
