/** Text that is safe to print. */

/** The user that a URL names may come with a password, which is for nobody else to read. */
export const withoutUser = (text: string): string => text.replace(/(?<=\w:\/\/)[^\s/?#]*@/g, '***@')

/** A message may quote input: it must neither break the line nor steer the terminal. */
export const oneLine = (text: string): string =>
  text.replace(/\s*[\r\n]+\s*/g, ' ').replace(/[\x00-\x1f\x7f-\x9f]/g, (sign) => `\\x${sign.charCodeAt(0).toString(16).padStart(2, '0')}`)
