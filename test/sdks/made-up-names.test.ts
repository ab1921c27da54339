import { tellMadeUpNames } from '../adapter/made-up-names.ts'
import { claudeAgentSubject } from './subjects/claude-agent.ts'
import { copilotSubject } from './subjects/copilot.ts'
import { googleAdkSubject } from './subjects/google-adk.ts'
import { mastraSubject } from './subjects/mastra.ts'
import { strandsSubject } from './subjects/strands.ts'

tellMadeUpNames([mastraSubject, strandsSubject, googleAdkSubject, claudeAgentSubject, copilotSubject], {
  runNoOther: ['google-adk'],
  // A rule that was not used is told, as ever; one that says it is optional is not.
  listNone: ['claude-agent'],
})
