/** Accounts: names that records mention. An account exists once any record names it, and has no state here. */
import { resource } from '../query.ts'

export interface Account {
  readonly id: string
}

export const accounts = resource({
  name: 'account',
  kept: 'name',
  tag: 0,
  shift: 0,
  indexed: false,
  columns: { id: 0 },
  decode: (members) => members as Account,
})
