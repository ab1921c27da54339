/** What is used of `@temporalio/activity`. */
export interface TemporalActivitySdk {
  readonly Context: { current(): ActivityContext }
  readonly ApplicationFailure: { nonRetryable(message: string, type: string): Error }
}

export interface ActivityContext {
  readonly info: { readonly workflowExecution: { readonly workflowId: string; readonly runId: string } }
  readonly client: TemporalClient
  readonly cancellationSignal: AbortSignal
  /** Rejects when it is cancelled. */
  readonly cancelled: Promise<never>
  heartbeat(): void
}

export interface TemporalClient {
  /** `deadline`: epoch milliseconds. */
  withDeadline<T>(deadline: number, call: () => Promise<T>): Promise<T>
  readonly workflow: {
    getHandle(
      workflowId: string,
      runId?: string,
    ): {
      signal(name: string, argument: unknown): Promise<void>
      query<T>(name: string, argument: unknown): Promise<T>
    }
  }
}
