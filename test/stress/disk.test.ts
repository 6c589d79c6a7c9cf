import { disk } from './disk.ts'
import { holds } from './support.ts'

holds(disk, 20, ['the result of a write is ignored'])
