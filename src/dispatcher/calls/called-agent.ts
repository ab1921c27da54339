import type { TokenUsage } from '../../hooks/index.ts'
import { errorMessage, errorType } from '../../internal/errors.ts'
import { defined } from '../../internal/objects.ts'

/** What is read of a called agent's result, where it is there. */
interface Result {
  readonly operationId?: unknown
  readonly threadId?: unknown
  readonly status?: unknown
  readonly reason?: unknown
  readonly content?: unknown
  readonly usage?: unknown
  readonly costUsd?: unknown
  readonly error?: unknown
  readonly denial?: unknown
}

/** Why an agent did not do what it was asked. */
interface Failure {
  readonly error?: unknown
  readonly errorType: string
  readonly errorMessage: string
}

export interface ChildReading {
  readonly success: boolean
  readonly subOperationId?: string
  readonly threadId?: string
  readonly reason?: string
  readonly content?: string
  readonly usage?: TokenUsage
  readonly costUsd?: number
  /** Absent where it succeeded. */
  readonly failure?: Failure
}

/** The agent's run waits for a human, in it or further down, and is resumed with this one. */
export function isParked(result: unknown): boolean {
  return (result as { status?: unknown } | null | undefined)?.status === 'waiting_for_human'
}

export function readChild(result: unknown, name: string): ChildReading {
  const child: Result = typeof result === 'object' && result !== null ? result : {}
  const { operationId, threadId, reason = child.status, costUsd } = child
  const usage = child.usage as TokenUsage | undefined
  const success = reason === undefined || reason === 'done' || reason === 'completed'
  return {
    success,
    ...defined({
      subOperationId: text(operationId),
      threadId: text(threadId),
      reason: text(reason),
      content: text(typeof result === 'string' ? result : child.content),
      usage: typeof usage?.inputTokens === 'number' ? usage : undefined,
      costUsd: typeof costUsd === 'number' ? costUsd : undefined,
      failure: success ? undefined : failureOf(child, name, String(reason)),
    }),
  }
}

function failureOf({ error, denial }: Result, name: string, reason: string): Failure {
  if (error !== undefined) return { error, errorType: errorType(error), errorMessage: errorMessage(error) }
  const { code, reason: why } = (denial ?? {}) as { code?: unknown; reason?: unknown }
  return {
    errorType: text(code) ?? reason,
    errorMessage: text(why) ?? `Agent "${name}" did not finish (${reason}).`,
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
