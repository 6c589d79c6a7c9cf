import { crowd } from './crowd.ts'
import { holds } from './support.ts'

holds(crowd, 150)
