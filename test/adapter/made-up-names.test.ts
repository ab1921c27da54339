import { tellMadeUpNames } from './made-up-names.ts'
import { SUBJECTS } from './subjects/index.ts'

// What a loop of one's own makes of such a call is its own.
const OWN = ['observeOpenAI', 'observeMcpClient of version 1', 'observeMcpClient of version 2']

tellMadeUpNames(
  SUBJECTS.filter(({ name }) => !OWN.includes(name)),
  {
    runNoOther: ['openai-agents'],
    fail: ['openai-agents'],
    // It ends the run at once, with an error that names the tool.
    notStreamed: ['observeGoogleGenAI'],
  },
)
