import { describeDurable } from '../adapter/durable/describe-durable.ts'
import { googleAdkSubject } from './subjects/google-adk.ts'
import { mastraSubject } from './subjects/mastra.ts'
import { strandsSubject } from './subjects/strands.ts'

describeDurable([googleAdkSubject, mastraSubject, strandsSubject])
