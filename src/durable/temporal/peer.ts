/** What is used of `@temporalio/activity`. */
export interface TemporalActivitySdk {
  readonly Context: { current(): ActivityContext }
  readonly ApplicationFailure: { nonRetryable(message: string, type: string): Error }
}

export interface ActivityContext {
  readonly info: {
    readonly workflowExecution: { readonly workflowId: string; readonly runId: string }
    readonly activityId: string
    readonly attempt: number
  }
  readonly client: TemporalClient
  readonly cancellationSignal: AbortSignal
  /** Rejects when it is cancelled. */
  readonly cancelled: Promise<never>
  heartbeat(): void
}

export interface TemporalClient {
  readonly workflow: {
    getHandle(
      workflowId: string,
      runId?: string,
    ): {
      signal(name: string, requestId: string): Promise<void>
      fetchHistory(): Promise<{ readonly events?: readonly HistoryEvent[] | null }>
      describe(): Promise<{
        readonly raw: { readonly pendingActivities?: readonly PendingActivity[] | null }
      }>
    }
  }
  readonly options: { readonly loadedDataConverter: DataConverter }
}

interface PendingActivity {
  readonly activityId?: string | null
  readonly attempt?: number | null
}

/** Of Temporal's protocol, as much of it as is read. */
export interface HistoryEvent {
  readonly eventId?: { toString(): string } | null
  readonly workflowExecutionStartedEventAttributes?: { readonly input?: Payloads | null } | null
  readonly activityTaskScheduledEventAttributes?: {
    readonly activityType?: { readonly name?: string | null } | null
  } | null
  readonly activityTaskCompletedEventAttributes?: {
    readonly scheduledEventId?: { toString(): string } | null
    readonly result?: Payloads | null
  } | null
}

interface Payloads {
  readonly payloads?: readonly object[] | null
}

interface DataConverter {
  readonly payloadConverter: { fromPayload(payload: never): unknown }
  readonly payloadCodecs: readonly { decode(payloads: never): Promise<readonly object[]> }[]
}

/** Whether nobody else has been given it meanwhile: a process that stood still finds what it was given before. */
export async function isCurrent({ client, info }: ActivityContext): Promise<boolean> {
  const { workflowId, runId } = info.workflowExecution
  const { raw } = await client.workflow.getHandle(workflowId, runId).describe()
  return (raw.pendingActivities ?? []).some(
    ({ activityId, attempt }) => activityId === info.activityId && attempt === info.attempt,
  )
}

/** What a run was begun with, and what its activities of a name gave, in the order in which they were asked for. */
export async function readHistory(
  { workflow, options }: TemporalClient,
  { workflowId, runId }: { readonly workflowId: string; readonly runId: string },
  activity: string,
): Promise<{ readonly input: unknown; readonly given: readonly unknown[] }> {
  const { events } = await workflow.getHandle(workflowId, runId).fetchHistory()
  const { payloadConverter, payloadCodecs } = options.loadedDataConverter
  const read = async (stored: Payloads | null | undefined): Promise<unknown> => {
    let payloads: readonly object[] = stored?.payloads ?? []
    for (const codec of payloadCodecs.toReversed()) payloads = await codec.decode(payloads as never)
    return payloads[0] && payloadConverter.fromPayload(payloads[0] as never)
  }
  const given = new Map<string, unknown>()
  let input: unknown
  for (const event of events ?? []) {
    const { workflowExecutionStartedEventAttributes: started } = event
    const { activityTaskScheduledEventAttributes: asked, activityTaskCompletedEventAttributes: done } = event
    if (started) input = await read(started.input)
    if (asked?.activityType?.name === activity) given.set(String(event.eventId), undefined)
    const id = String(done?.scheduledEventId)
    if (given.has(id)) given.set(id, await read(done?.result))
  }
  return { input, given: [...given.values()].filter((one) => one !== undefined) }
}
