import { chaos, failing } from './failing.ts'
import { holds } from './support.ts'

holds(failing, 1)
holds(chaos, 1000)
