import { tellAlikeAtRandom } from '../adapter/random-runs.ts'
import { googleAdkSubject } from './subjects/google-adk.ts'
import { mastraSubject } from './subjects/mastra.ts'
import { strandsSubject } from './subjects/strands.ts'

// Those that are processes of their own take a second for each run.
tellAlikeAtRandom([mastraSubject, strandsSubject, googleAdkSubject], 12)
