import type { ChainResult } from '../../gates/chain.ts'
import type { TokenUsage } from '../../hooks/index.ts'
import { errorMessage, errorType } from '../../internal/errors.ts'
import { assertKeys, keysOf } from '../../internal/expect.ts'
import { defined } from '../../internal/objects.ts'
import type { AgentEnd, ResumedSpan } from '../plugins/instrument.ts'
import type { DecidedPlace } from '../run/decided-place.ts'
import type { CallSite, OperationCore } from '../run/operation-core.ts'
import { invalidCall, type ParentOperation } from '../run/operation-init.ts'
import { parentOf } from '../run/parent.ts'
import type { WaitingCall } from '../run/parked.ts'
import { HeldCall } from './held-call.ts'

export interface CallAgentInit {
  agentName?: string
  /** The called agent's id; its name when absent. */
  agentId?: string
  /** What the agent is asked to do, whole. */
  instruction: string
  /** True when the agent runs elsewhere, so that this side shows the call as its own span. @default false */
  remote?: boolean
}

const AGENT_CALL_KEYS = keysOf<CallAgentInit>({
  agentName: true,
  agentId: true,
  instruction: true,
  remote: true,
})

/** What an agent is to be run with. */
export interface CalledAgent {
  /** What a gate made of it. */
  readonly instruction: string
  /** For the child's `startOperation({ parent })`. */
  readonly parent: ParentOperation
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

/** One call of another agent, until it has finished. */
export class AgentCall<R> extends HeldCall<R, CalledAgent, AgentEnd> {
  readonly #name: string | undefined
  readonly #id: string
  readonly #callKey: string
  readonly #remote: boolean
  /** The run of the agent was parked, and goes on: its gates have decided and its first hook has fired. */
  readonly #waited: WaitingCall | undefined
  /** Epoch milliseconds. */
  readonly #startedAt: number
  #instruction: string
  #subOperationId: string | undefined

  /** @throws HookspanError `INVALID_CALL` when it is malformed. */
  constructor(core: OperationCore, site: CallSite, init: CallAgentInit, taken?: WaitingCall) {
    const asked: unknown = init?.instruction
    if (typeof asked !== 'string') throw invalidCall('instruction', 'an agent call', 'a string', asked)
    assertKeys(init, AGENT_CALL_KEYS, 'an agent call', 'INVALID_CALL')
    const { agentName, instruction, remote = false } = init
    const agentId = init.agentId ?? agentName ?? 'agent'
    const waited = taken ?? core.takeWaiting(undefined, agentName ?? agentId, 'agent')
    const callKey = waited?.callKey ?? core.nextCallKey()
    const named = agentName === undefined ? {} : { agentName }
    const resumed = waited?.span === undefined ? {} : { resumed: waited.span }
    super(core, site, { kind: 'agent', callKey, ...named, agentId, instruction, remote, ...resumed })
    this.#startedAt = waited?.span?.startedAt ?? core.record.clock()
    this.#remote = remote
    this.#name = agentName
    this.#id = agentId
    this.#callKey = callKey
    this.#waited = waited
    this.#instruction = instruction
  }

  protected override get point() {
    return 'beforeCallAgent' as const
  }

  protected get what(): string {
    return 'Agent call'
  }

  protected get during(): string {
    return 'while the agent was called'
  }

  protected override get asked(): boolean {
    return this.#waited === undefined
  }

  protected payload(): string {
    return this.#instruction
  }

  protected override place(): DecidedPlace {
    const apiName = this.#name ?? this.#id
    return { ...super.place(), identifier: 'agent', apiName, callKey: this.#callKey }
  }

  protected effective(decided: ChainResult | undefined): CalledAgent {
    if (decided?.kind === 'proceed' && decided.changed) {
      this.#instruction = String(decided.payload)
      this.traced.annotate({ kind: 'instruction', instruction: this.#instruction })
    }
    const started = (id: string) => {
      this.#subOperationId = id
    }
    const parent = parentOf(this.core, this.traced, started, this.#callKey)
    return { instruction: this.#instruction, parent }
  }

  protected announce(): void {
    this.core.emit('beforeCallAgent', this.#told())
  }

  override settle(result: R): R {
    if (!isParked(result)) return super.settle(result)
    if (this.claim()) {
      this.close({ kind: 'agent', waitingFor: 'human' })
      const callKey = this.#callKey
      const agentId = this.#id
      const apiName = this.#name ?? agentId
      const agent = { agentId, instruction: this.#instruction, ...(this.#name && { agentName: this.#name }) }
      const { traceparent, parentTraceparent } = this.traced
      const span = defined({ traceparent, parentTraceparent, startedAt: this.#startedAt }) as ResumedSpan
      const kind = 'agent'
      this.core.waiting.push({ toolCallId: callKey, apiName, callKey, callIndex: 0, kind, agent, span })
    }
    return result
  }

  protected finished(result: R): AgentEnd {
    const { core } = this
    const child = readChild(result)
    // A child of this process adds up its own calls.
    if (this.#subOperationId === undefined) core.tree.addUsage(child.usage, undefined, 0)
    this.#subOperationId ??= child.subOperationId
    core.emit('afterCallAgent', {
      ...this.#told(),
      ...this.decidedBy,
      ...child,
      executionTimeMs: this.elapsedMs,
    })
    return { kind: 'agent', ...child, ...this.#sub() }
  }

  protected failed(error: unknown): AgentEnd {
    const failure = {
      ...this.decidedBy,
      error,
      errorType: errorType(error),
      errorMessage: errorMessage(error),
    }
    this.core.emit('onCallAgentError', { ...this.#told(), ...failure, executionTimeMs: this.elapsedMs })
    return { kind: 'agent', error, ...this.#sub() }
  }

  #sub(): { subOperationId?: string } {
    return this.#subOperationId === undefined ? {} : { subOperationId: this.#subOperationId }
  }

  #told() {
    return {
      ...this.where,
      agentId: this.#id,
      ...(this.#name !== undefined && { agentName: this.#name }),
      instruction: this.#instruction,
      callKey: this.#callKey,
      ...(this.#remote && { remote: true }),
      ...this.#sub(),
    }
  }
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
