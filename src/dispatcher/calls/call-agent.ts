import { isRefusal } from '../../gates/chain.ts'
import type { TokenUsage } from '../../hooks/index.ts'
import { untilAborted } from '../../internal/async.ts'
import { errorMessage, errorType, HookspanError } from '../../internal/errors.ts'
import { runWithin } from '../run/current.ts'
import type { CallSite, OpenCall, OperationCore } from '../run/operation-core.ts'
import { invalidCall, type LiveParent, type ParentOperation } from '../run/operation-init.ts'

export interface CallAgentInit {
  agentName?: string
  /** The called agent's id; its name when absent. */
  agentId?: string
  /** What the agent is asked to do, whole. */
  instruction: string
  /** True when the agent runs elsewhere, so that this side shows the call as its own span. @default false */
  remote?: boolean
}

/** What is read of a child's result, where it is there. */
interface ChildResult {
  readonly operationId?: unknown
  readonly threadId?: unknown
  readonly status?: unknown
  readonly reason?: unknown
  readonly content?: unknown
  readonly usage?: unknown
}

/**
 * One call of another agent, until it has finished. Gives what `fn` gives and throws what it throws.
 *
 * @throws HookspanError `INVALID_CALL` when the call itself is malformed, `CALL_DENIED` when a gate refused it,
 * `OPERATION_ENDED`, `RUN_DENIED`.
 */
export async function runCallAgent<R>(
  core: OperationCore,
  site: CallSite,
  init: CallAgentInit,
  fn: (
    parent: ParentOperation,
    options: { signal: AbortSignal | undefined; instruction: string },
  ) => R | PromiseLike<R>,
): Promise<R> {
  const asked: unknown = init?.instruction
  if (typeof asked !== 'string') throw invalidCall('instruction', 'an agent call', 'a string', asked)
  if (typeof fn !== 'function') {
    throw invalidCall('fn', 'an agent call', 'the function that runs the agent', fn)
  }
  if (core.admission !== undefined) await core.admission
  core.assertRunning()
  const startedAt = performance.now()
  const { agentName, remote = false } = init
  let instruction = init.instruction
  const agentId = init.agentId ?? agentName ?? 'agent'
  // The run of the agent was parked, and goes on: its gates have decided and its first hook has fired.
  const waited = core.takeWaiting(undefined, agentName ?? agentId, 'agent')
  const callKey = waited?.callKey ?? core.nextCallKey()
  const where = site.stepIndex === undefined ? {} : { stepIndex: site.stepIndex }
  const traced = core.open(site, {
    kind: 'agent',
    callKey,
    ...(agentName !== undefined && { agentName }),
    agentId,
    instruction,
    remote,
  })
  let subOperationId: string | undefined
  const told = () => ({
    ...where,
    agentId,
    ...(agentName !== undefined && { agentName }),
    instruction,
    callKey,
    ...(subOperationId !== undefined && { subOperationId }),
  })
  const fail = (error: unknown): void => {
    core.emit('onCallAgentError', {
      ...told(),
      error,
      errorType: errorType(error),
      errorMessage: errorMessage(error),
      executionTimeMs: performance.now() - startedAt,
    })
    traced.end(
      { kind: 'agent', error, ...(subOperationId !== undefined && { subOperationId }) },
      core.timestamp,
    )
  }
  const open: OpenCall = {
    cut: (reason) =>
      fail(new DOMException(`The run ended (${reason}) while the agent was called.`, 'AbortError')),
  }
  core.track(open)
  try {
    const question = {
      traced,
      stepIndex: site.stepIndex,
      identifier: 'agent',
      apiName: agentName ?? agentId,
      callKey,
    }
    const decided = waited ? undefined : await core.decide('beforeCallAgent', instruction, question)
    if (decided?.kind === 'proceed' && decided.changed) instruction = String(decided.payload)
    if (waited === undefined) core.emit('beforeCallAgent', told())
    if (isRefusal(decided)) {
      throw new HookspanError('CALL_DENIED', `Agent call denied (${decided.code}): ${decided.reason}`, {
        cause: decided,
      })
    }
    core.assertRunning()
    core.signal?.throwIfAborted()
    const parent = parentOf(core, traced, (id) => {
      subOperationId = id
    })
    const result =
      decided?.kind === 'skip'
        ? (decided.result as R)
        : await untilAborted(
            Promise.resolve(
              runWithin(core, site, traced, () => fn(parent, { signal: core.signal, instruction })),
            ),
            core.signal,
          )
    if (isParked(result)) {
      if (core.untrack(open)) traced.end({ kind: 'agent', waitingFor: 'human' }, core.timestamp)
      const apiName = agentName ?? agentId
      core.waiting.push({ toolCallId: callKey, apiName, callKey, callIndex: 0, kind: 'agent' })
      return result
    }
    if (core.untrack(open)) {
      const child = readChild(result)
      // A child of this process adds up its own calls.
      if (subOperationId === undefined) core.tree.addUsage(child.usage, undefined, 0)
      subOperationId ??= child.subOperationId
      core.emit('afterCallAgent', { ...told(), ...child, executionTimeMs: performance.now() - startedAt })
      traced.end(
        { kind: 'agent', ...child, ...(subOperationId !== undefined && { subOperationId }) },
        core.timestamp,
      )
    }
    return result
  } catch (error) {
    if (core.untrack(open)) fail(error)
    throw error
  }
}

/** What a child is started with. Only the plain fields survive JSON. */
export function parentOf(
  core: OperationCore,
  traced: LiveParent['live']['traced'],
  started: (operationId: string) => void,
): ParentOperation {
  const { operationId, rootOperationId, userId, conversationId } = core.info
  const { traceparent } = traced
  const parent: ParentOperation = {
    operationId,
    rootOperationId,
    ...(traceparent !== undefined && { traceparent }),
    agentPath: core.agentPath,
    ...(userId !== undefined && { userId }),
    ...(conversationId !== undefined && { conversationId }),
  }
  const { signal, approver, tree, questions } = core
  const live: LiveParent['live'] = {
    traced,
    gates: () => core.allGates(),
    approver,
    tree,
    questions,
    signal,
    started,
  }
  Object.defineProperty(parent, 'live', { value: live, enumerable: false })
  return parent
}

/** The agent's run waits for a human, in it or further down, and is resumed with this one. */
function isParked(result: unknown): boolean {
  return (result as { status?: unknown } | null | undefined)?.status === 'waiting_for_human'
}

function readChild(result: unknown): {
  success: boolean
  subOperationId?: string
  threadId?: string
  content?: string
  usage?: TokenUsage
} {
  const child: ChildResult = typeof result === 'object' && result !== null ? result : {}
  const usage = child.usage as TokenUsage | undefined
  return {
    success: isSuccess(child.reason ?? child.status),
    ...(typeof child.operationId === 'string' && { subOperationId: child.operationId }),
    ...(typeof child.threadId === 'string' && { threadId: child.threadId }),
    ...(typeof child.content === 'string' && { content: child.content }),
    ...(typeof result === 'string' && { content: result }),
    ...(typeof usage?.inputTokens === 'number' && { usage }),
  }
}

function isSuccess(ending: unknown): boolean {
  return ending === undefined || ending === 'done' || ending === 'completed'
}
