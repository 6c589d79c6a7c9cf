import { chaos, failing } from './failing.ts'
import { holds } from './support.ts'

holds(failing, 3)
holds(chaos, 300, ['the result of a write is ignored'])
