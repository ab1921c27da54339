import { holdSubAgentsAlike } from '../adapter/sub-agents-alike.ts'
import { claudeAgentSubject } from './subjects/claude-agent.ts'
import { copilotSubject } from './subjects/copilot.ts'
import { googleAdkSubject } from './subjects/google-adk.ts'
import { mastraSubject } from './subjects/mastra.ts'
import { strandsSubject } from './subjects/strands.ts'

holdSubAgentsAlike([mastraSubject, strandsSubject, googleAdkSubject, claudeAgentSubject, copilotSubject])
