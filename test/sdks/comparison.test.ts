import { tellAlike } from '../adapter/comparison/alike.ts'
import { claudeAgentSubject } from './subjects/claude-agent.ts'
import { copilotSubject } from './subjects/copilot.ts'
import { googleAdkSubject } from './subjects/google-adk.ts'
import { mastraSubject } from './subjects/mastra.ts'
import { strandsSubject } from './subjects/strands.ts'

// With the scenarios, the reference and the known differences of test/adapter/comparison.test.ts.
tellAlike([mastraSubject, strandsSubject, googleAdkSubject, claudeAgentSubject, copilotSubject])
