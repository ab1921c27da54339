import { holdAlike } from './policies-alike.ts'
import { SUBJECTS } from './subjects/index.ts'

holdAlike(SUBJECTS)
