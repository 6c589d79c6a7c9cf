/** What a store lacks that was made of the ledgers of a pruned one: digests do not show it, since they cover the ledgers that are left. */

/** @param begin the first of these ledgers, @param first the first one ever appended to the source, @param what the copy, for the message */
export const lackingBefore = (begin: number, first: number, what: string): string =>
  `${what} lacks what only ledgers ${first} to ${begin - 1} said: offers that have not changed since`
