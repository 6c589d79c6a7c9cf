import { streams } from './streams.ts'
import { holds } from './support.ts'

holds(streams, 200, ['a page in fifty lacks its last record'])
