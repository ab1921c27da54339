import { SUBJECTS } from './subjects/index.ts'
import { tellAlike } from './unmatched.ts'

tellAlike(SUBJECTS)
