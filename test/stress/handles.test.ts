import { handles } from './handles.ts'
import { holds } from './support.ts'

holds(handles, 150)
