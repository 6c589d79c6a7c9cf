import { kill } from './kill.ts'
import { holds } from './support.ts'

holds(kill, 50, ['acknowledged before it is written', 'every tenth block is not written'])
