import { fuzz } from './fuzz.ts'
import { holds } from './support.ts'

holds(fuzz, 20_000, ['a defect behind one kind of value', 'one request in a thousand is not answered'])
