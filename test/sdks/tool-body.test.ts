import { tellToolBody } from '../adapter/tool-body.ts'
import { traced } from '../support/span-tree.ts'

// Before the SDKs are loaded, as `node --import ./instrumentation.js` has it.
const tracing = traced()
tracing.makeGlobal()
const { claudeAgentSubject } = await import('./subjects/claude-agent.ts')
const { copilotSubject } = await import('./subjects/copilot.ts')
const { googleAdkSubject } = await import('./subjects/google-adk.ts')
const { mastraSubject } = await import('./subjects/mastra.ts')
const { strandsSubject } = await import('./subjects/strands.ts')

tellToolBody(tracing, [mastraSubject, strandsSubject, googleAdkSubject, claudeAgentSubject, copilotSubject], {
  around: (name) => (name === 'google-adk' ? ['invocation'] : []),
  // `session.abort()` takes none.
  hasReason: (name) => name !== 'copilot',
})
