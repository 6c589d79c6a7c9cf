import { damage } from './damage.ts'
import { holds } from './support.ts'

holds(damage, 100, ['a store that notes nothing'])
