import { sequences } from './sequences.ts'
import { holds } from './support.ts'

holds(sequences, 300)
