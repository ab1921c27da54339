import type { JournalEntry } from '../drive.ts'

/** What is used of `@dbos-inc/dbos-sdk`. */
export interface Dbos {
  readonly workflowID: string | undefined
  readonly executorID: string
  readonly applicationVersion: string
  /** Of the step that the running code is in. */
  readonly stepStatus: { readonly cancelSignal: AbortSignal } | undefined
  registerWorkflow<A extends unknown[], T>(
    workflow: (...args: A) => Promise<T>,
    config: { name: string },
  ): (...args: A) => Promise<T>
  registerLifecycleCallback(callback: { initialize(): Promise<void> }): void
  startWorkflow<A extends unknown[]>(
    workflow: (...args: A) => Promise<unknown>,
    params: { workflowID: string },
  ): (...args: A) => Promise<unknown>
  runStep<T>(step: () => Promise<T>, config: { name: string }): Promise<T>
  recv(topic: string, timeoutSeconds: number): Promise<unknown>
  send(workflowId: string, message: unknown, topic: string): Promise<void>
  getWorkflowStatus(workflowId: string): Promise<WorkflowStatus | null>
  listWorkflows(asked: object): Promise<readonly WorkflowStatus[]>
  listWorkflowSteps(workflowId: string): Promise<readonly JournalEntry[] | undefined>
}

interface WorkflowStatus {
  readonly workflowID: string
  readonly status: string
  readonly input?: readonly unknown[]
}

/** DBOS's codes: its errors have no names. */
const CANCELLED = 24
/** What was done cannot be kept: somebody else has the workflow, or nobody, as when it was cancelled. */
const NOT_OWNER = 5

/** Whether it was thrown because somebody cancelled the workflow. */
export async function isCancelledBy(DBOS: Dbos, workflowId: string, error: unknown): Promise<boolean> {
  const { dbosErrorCode: code } = Object(error) as { dbosErrorCode?: unknown }
  if (code !== NOT_OWNER) return code === CANCELLED
  return (await DBOS.getWorkflowStatus(workflowId))?.status === 'CANCELLED'
}
