/** What a rule's functions are told of a call. */
export interface MockedCall {
  readonly apiName: string
  readonly identifier: string
  readonly args: unknown
  readonly toolCallId: string
  readonly operationId: string
  readonly rootOperationId: string
  /** Agent names from the root to the calling agent. */
  readonly agentPath: readonly string[]
  readonly stepIndex: number
  /** How often the rule has answered before; with `perRun()`, in this run. */
  readonly callNumber: number
  /** Aborted when the run is aborted. */
  readonly signal: AbortSignal | undefined
}
