import { PROGRAMS } from './adapter-faults/programs.ts'
import { faultSuites } from './adapter-faults/suites.ts'

faultSuites(PROGRAMS)
