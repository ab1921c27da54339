import type { HookEvent } from '../../hooks/index.ts'
import { errorMessage, errorType } from '../../internal/errors.ts'
import { defined, readFields } from '../../internal/objects.ts'
import { asText } from '../../wire/reading.ts'
import { countable, isAmount } from '../run/usage.ts'

/** What is read of a called agent's result, where it is there. */
const READ = [
  'operationId',
  'threadId',
  'status',
  'reason',
  'success',
  'isError',
  'ok',
  'content',
  'usage',
  'costUsd',
  'error',
  'denial',
] as const

type Result = { readonly [K in (typeof READ)[number]]?: unknown }

/** What agents that did what they were asked say of it. */
const SUCCESSES = ['done', 'completed', 'success', 'succeeded', 'ok']

/** Why an agent did not do what it was asked. */
interface Failure {
  readonly error?: unknown
  readonly errorType: string
  readonly errorMessage: string
}

type Told = 'success' | 'subOperationId' | 'threadId' | 'reason' | 'content' | 'usage' | 'costUsd'

export interface ChildReading extends Pick<HookEvent<'afterCallAgent'>, Told> {
  /** Absent where it succeeded. */
  readonly failure?: Failure
}

/** The agent's run waits for a human, in it or further down, and is resumed with this one. */
export function isParked(result: unknown): boolean {
  return readFields(result, ['status']).status === 'waiting_for_human'
}

/** What a gate gave in the place of an agent is its last word, or has it as agents give it. */
export function answerIn(given: unknown): unknown {
  return asText(readFields(given, ['content']).content) ?? given
}

export function readChild(result: unknown, name: string): ChildReading {
  const child: Result = readFields(result, READ)
  const { operationId, threadId, costUsd } = child
  const reason =
    asText(child.reason) ?? asText(child.status) ?? asText(readFields(child.status, ['state']).state)
  const success = succeeded(child, reason)
  return {
    success,
    ...defined({
      subOperationId: asText(operationId),
      threadId: asText(threadId),
      reason,
      content: asText(typeof result === 'string' ? result : child.content),
      usage: countable(child.usage),
      costUsd: isAmount(costUsd) ? costUsd : undefined,
      failure: success ? undefined : failureOf(child, name, reason),
    }),
  }
}

/** By what it says of its end; where it says nothing, by what else tells of a failure, as an HTTP answer or one of MCP does. */
function succeeded({ success, isError, ok, error }: Result, reason: string | undefined): boolean {
  if (reason !== undefined) return SUCCESSES.includes(reason)
  return success !== false && isError !== true && ok !== false && (error ?? undefined) === undefined
}

function failureOf({ error, denial, status }: Result, name: string, reason: string | undefined): Failure {
  if (error !== undefined && error !== null)
    return { error, errorType: errorType(error), errorMessage: errorMessage(error) }
  const { code, reason: why } = readFields(denial, ['code', 'reason'])
  const said = reason ?? (typeof status === 'number' ? String(status) : undefined)
  return {
    errorType: asText(code) ?? said ?? '_OTHER',
    errorMessage: asText(why) ?? `Agent "${name}" did not finish${said === undefined ? '' : ` (${said})`}.`,
  }
}
