import { power } from './power.ts'
import { holds } from './support.ts'

holds(power, 30, ['writes are not synced', 'the disk says that it has synced, and has not'])
