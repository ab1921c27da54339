import { mockAlikeAtRandom } from '../adapter/random-mocks/alike.ts'
import { claudeAgentSubject } from './subjects/claude-agent.ts'
import { copilotSubject } from './subjects/copilot.ts'
import { googleAdkSubject } from './subjects/google-adk.ts'
import { mastraSubject } from './subjects/mastra.ts'
import { strandsSubject } from './subjects/strands.ts'

mockAlikeAtRandom([mastraSubject, strandsSubject, googleAdkSubject], 12)

// Those that are processes of their own take a second for each run.
mockAlikeAtRandom([copilotSubject, claudeAgentSubject], 4)
