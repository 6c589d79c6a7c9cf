import { handles } from './handles.ts'
import { holds } from './support.ts'

holds(handles, 100, ['ledgers are not closed', 'streams are not ended'])
