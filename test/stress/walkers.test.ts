import { holds } from './support.ts'
import { walkers } from './walkers.ts'

holds(walkers, 10, ['a page in fifty is short', 'the newest ledger is shown by half'])
