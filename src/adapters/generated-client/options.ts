import type { HookDispatcher, Operation } from '../../dispatcher/index.ts'
import { OPERATION } from '../../dispatcher/is-dispatcher.ts'
import type { LlmRequest } from '../../hooks/index.ts'
import { a, type Fields } from '../../internal/expect.ts'

export interface ObserveOptions {
  dispatcher: HookDispatcher
  /**
   * Where calls belong that are made outside of any running operation. Without it, each of them becomes an
   * operation, and so a trace, of its own.
   */
  operation?: Operation
  /** Says so for each of them, by its request, where there is no `operation`. */
  operationOf?: (request: LlmRequest) => Operation
  /** Names the operations that are made for single calls. */
  agentName?: string
  /** An OpenTelemetry GenAI provider name. @default told by the client's base URL, else that of the SDK */
  provider?: string
}

export const FIELDS: Fields<ObserveOptions> = {
  dispatcher: a.value,
  operation: OPERATION,
  operationOf: a.function,
  agentName: a.string,
  provider: a.name,
}
