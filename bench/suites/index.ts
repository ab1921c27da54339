import type { Suite } from '../harness/types.ts'
import { adapters } from './adapters.ts'
import { agentRun } from './agent-run.ts'
import { attaching } from './attaching.ts'
import { checkpoint } from './checkpoint.ts'
import { dispatch } from './dispatch.ts'
import { gates } from './gates.ts'
import { heap } from './heap.ts'
import { httpGate } from './http-gate.ts'
import { importing } from './import.ts'
import { mockMatch } from './mock-match.ts'
import { mockedCall } from './mocked-call.ts'
import { pipeline } from './pipeline.ts'
import { spool } from './spool.ts'
import { toolCall } from './tool-call.ts'

export const suites: readonly Suite[] = [
  dispatch,
  toolCall,
  agentRun,
  adapters,
  pipeline,
  spool,
  checkpoint,
  heap,
  mockedCall,
  mockMatch,
  gates,
  httpGate,
  importing,
  attaching,
]
