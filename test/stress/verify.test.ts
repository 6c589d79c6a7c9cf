import { holds } from './support.ts'
import { verify } from './verify.ts'

holds(verify, 25)
