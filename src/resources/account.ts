/** Accounts: names that records mention. An account exists once any record names it, and has no state here. */
import type { Resource } from '../query.ts'

export interface Account {
  readonly id: string
}

export const accounts: Resource<Account> = {
  name: 'account',
  tag: 0,
  shift: 0,
  indexed: false,
  sides: ['id'],
  decode: (members) => members as Account,
}
