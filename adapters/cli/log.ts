/** What a service says about answers that are its own fault. */
import { explain } from './explain.ts'
import { type Io, note } from './io.ts'

/** Prints the error behind an answer of 500 or 503, with the id that its reader was given. */
export const logTo =
  (io: Io) =>
  (error: unknown, { id, method, target }: { readonly id: string; readonly method: string; readonly target: string }): void => {
    note(io, `answer ${id} to ${method} ${target}: ${explain(error).line ?? ''}`)
  }
