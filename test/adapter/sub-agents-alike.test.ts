import { holdSubAgentsAlike } from './sub-agents-alike.ts'
import { SUBJECTS } from './subjects/index.ts'

holdSubAgentsAlike(SUBJECTS)
