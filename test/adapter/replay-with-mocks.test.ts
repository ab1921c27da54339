import { replayWithMocksAlike } from './random-mocks/replayed.ts'
import { SUBJECTS } from './subjects/index.ts'

replayWithMocksAlike(SUBJECTS)
