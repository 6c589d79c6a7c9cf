import { power } from './power.ts'
import { holds } from './support.ts'

holds(power, 15, ['writes are not synced'])
