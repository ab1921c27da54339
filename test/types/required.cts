/** For programs that `require`, LangChain has types of its own, which those for `import` do not fit. */
import type { HookspanMiddleware } from 'hookspan/langchain'
import type { AgentMiddleware } from 'langchain'

type Fits<A extends B, B> = A
export type Attached = Fits<HookspanMiddleware, AgentMiddleware>
