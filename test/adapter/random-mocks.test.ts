import { mockAlikeAtRandom } from './random-mocks/alike.ts'
import { SUBJECTS } from './subjects/index.ts'

mockAlikeAtRandom(SUBJECTS, 12)
