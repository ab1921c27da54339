/** What is used of `@temporalio/activity`. */
export interface TemporalActivitySdk {
  readonly Context: { current(): ActivityContext }
  readonly ApplicationFailure: { nonRetryable(message: string, type: string): Error }
}

export interface ActivityContext {
  readonly info: {
    readonly workflowExecution: { readonly workflowId: string; readonly runId: string }
    readonly attempt: number
    readonly taskToken: Uint8Array
    readonly heartbeatTimeoutMs?: number
  }
  readonly client: TemporalClient
  readonly cancellationSignal: AbortSignal
  heartbeat(): void
}

export interface TemporalClient {
  /** `deadline`: epoch milliseconds. */
  withDeadline<T>(deadline: number, call: () => Promise<T>): Promise<T>
  readonly activity: { heartbeat(taskToken: Uint8Array): Promise<void> }
  readonly workflow: { getHandle(workflowId: string, runId?: string): WorkflowHandle }
}

interface WorkflowHandle {
  signal(name: string, argument: unknown): Promise<void>
  query<T>(name: string, argument: unknown): Promise<T>
}
