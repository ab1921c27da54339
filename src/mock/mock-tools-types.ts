import type { StandInCall } from '../dispatcher/index.ts'
import type { MockedCall } from './rules/mocked-call.ts'
import type { ToolDeclaration } from './tool-catalog.ts'

export interface MockToolsOptions {
  /**
   * What happens to a call that no rule answers. `error`: it fails, the real tool does not run, and the test is
   * told. `passthrough`: the real tool runs. `warn`: the real tool runs, with one `console.warn` per tool. A sub-agent
   * of this process runs in any case, unless a rule mocks it whole: its own calls are mocked. Not asked where
   * `replayTools()` is at work: the call is for the recording.
   *
   * @default 'error'
   */
  onUnmocked?: 'error' | 'passthrough' | 'warn'
  /**
   * The tools that the agents have, with their schemas. Needed only for what cannot be seen: tools in model
   * requests and schemas that the runtime hands to `toolCall` are known.
   */
  tools?: readonly ToolDeclaration[]
  /** `off`: neither arguments nor results are held to the tool's schemas. @default 'error' */
  schemas?: 'error' | 'off'
  /** Which operations are mocked, where several tests share one dispatcher. @default all */
  appliesTo?: (operation: StandInCall['operation']) => boolean
}

/** One call that reached the mocks. */
export interface MockToolsCall extends Omit<MockedCall, 'rootOperationId' | 'callNumber' | 'signal'> {
  /**
   * `mock`, `simulated`, `replay` for a recording, or `live` when the real tool ran; `refused` when nothing did; `agent`
   * when a sub-agent ran, whose own calls are mocked.
   */
  readonly answeredBy: 'mock' | 'simulated' | 'replay' | 'live' | 'refused' | 'agent'
  readonly rule?: string
}

/** Which tools there were, and what became of their calls. Names, sorted; sub-agents are none. */
export interface MockCoverage {
  /** Declared, offered to a model, or called. */
  readonly discovered: readonly string[]
  readonly mocked: readonly string[]
  /** The real tool ran. */
  readonly live: readonly string[]
  readonly refused: readonly string[]
}
