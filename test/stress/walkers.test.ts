import { holds } from './support.ts'
import { walkers } from './walkers.ts'

holds(walkers, 10, ['the newest ledger is shown by half'])
