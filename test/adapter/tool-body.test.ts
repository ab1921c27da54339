import { traced } from '../support/span-tree.ts'
import { tellToolBody } from './tool-body.ts'

// Before the SDKs are loaded, as `node --import ./instrumentation.js` has it.
const tracing = traced()
tracing.makeGlobal()
const { SUBJECTS } = await import('./subjects/index.ts')

tellToolBody(tracing, SUBJECTS, {
  // A loop of one's own streams one reply there.
  toolsInStreams: (name) => !/^(observeOpenAI$|observeMcpClient)/.test(name),
})
