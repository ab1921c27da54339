import type { ChainResult } from '../../gates/chain.ts'
import { errorMessage, errorType } from '../../internal/errors.ts'
import { a, assertFields, type Fields, required } from '../../internal/expect.ts'
import { defined } from '../../internal/objects.ts'
import type { AgentEnd, ResumedSpan } from '../plugins/instrument.ts'
import type { DecidedPlace } from '../run/decided-place.ts'
import type { CallSite, OperationCore } from '../run/operation-core.ts'
import type { ParentOperation } from '../run/operation-init.ts'
import { parentOf } from '../run/parent.ts'
import type { WaitingCall } from '../run/parked.ts'
import { isParked, readChild } from './called-agent.ts'
import { HeldCall } from './held-call.ts'

export interface CallAgentInit {
  agentName?: string
  /** The called agent's id; its name when absent. */
  agentId?: string
  /** What the agent is asked to do, whole. */
  instruction: string
  /** True when the agent runs elsewhere, so that this side shows the call as its own span. @default false */
  remote?: boolean
  /** Who runs a remote agent: an OpenTelemetry GenAI provider name, or a word of your own. @default 'hookspan' where remote */
  provider?: string
  /** Where a remote agent is asked. */
  serverAddress?: string
  serverPort?: number
}

/** What an SDK said is passed on as it is. */
const AGENT_CALL: Fields<CallAgentInit> = {
  agentName: a.value,
  agentId: a.value,
  instruction: required(a.string),
  remote: a.boolean,
  provider: a.value,
  serverAddress: a.value,
  serverPort: a.value,
}

/** The conventions want a provider of each agent that is called over a network. */
const UNNAMED_PROVIDER = 'hookspan'

type AgentServer = Pick<CallAgentInit, 'provider' | 'serverAddress' | 'serverPort'>

function serverOf({ provider = UNNAMED_PROVIDER, serverAddress, serverPort }: CallAgentInit): AgentServer {
  return { provider, ...defined({ serverAddress, serverPort }) }
}

/** What an agent is to be run with. */
export interface CalledAgent {
  /** What a gate made of it. */
  readonly instruction: string
  /** For the child's `startOperation({ parent })`. */
  readonly parent: ParentOperation
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
  /** Of a remote agent. */
  readonly #server: AgentServer
  #instruction: string
  /** The gates have let it, and its first hook has fired. */
  #begun = false
  #subOperationId: string | undefined

  /** @throws HookspanError `INVALID_CALL` when it is malformed. */
  constructor(core: OperationCore, site: CallSite, init: CallAgentInit, taken?: WaitingCall) {
    assertFields<CallAgentInit>(init, AGENT_CALL, 'an agent call', 'INVALID_CALL')
    const { agentName, instruction, remote = false } = init
    const agentId = init.agentId ?? agentName ?? 'agent'
    const waited = taken ?? core.carried.take(undefined, agentName ?? agentId, 'agent')
    const callKey = waited?.callKey ?? core.nextCallKey()
    const named = agentName === undefined ? {} : { agentName }
    const resumed = waited?.span === undefined ? {} : { resumed: waited.span }
    const server = remote ? serverOf(init) : {}
    super(core, site, {
      kind: 'agent',
      callKey,
      ...named,
      agentId,
      instruction,
      remote,
      ...server,
      ...resumed,
    })
    this.#server = server
    this.#startedAt = waited?.span?.startedAt ?? core.record.clock()
    this.#remote = remote
    this.#name = agentName
    this.#id = agentId
    this.#callKey = callKey
    this.#waited = waited
    this.gates.push(...(waited?.span?.gates ?? []))
    // What a gate made of it, where that was decided before.
    this.#instruction = waited?.agent?.instruction ?? instruction
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
    this.#begun = true
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
      this.core.carried.wait(this.#saved())
    }
    return result
  }

  /** The agent's own run goes on from what is saved of it. */
  get savedCall(): WaitingCall | undefined {
    return this.#begun ? this.#saved() : this.#waited
  }

  #saved(): WaitingCall {
    const callKey = this.#callKey
    const agentId = this.#id
    const apiName = this.#name ?? agentId
    const agent = { agentId, instruction: this.#instruction, ...(this.#name && { agentName: this.#name }) }
    const { traceparent, parentTraceparent } = this.traced
    const span: ResumedSpan = {
      ...defined({ traceparent, parentTraceparent, startedAt: this.#startedAt }),
      ...this.decidedBy,
    }
    return { toolCallId: callKey, apiName, callKey, callIndex: 0, kind: 'agent', agent, span }
  }

  protected finished(result: R): AgentEnd {
    const { core } = this
    const { failure, ...child } = readChild(result, this.#name ?? this.#id)
    // A child of this process adds up its own calls.
    if (this.#subOperationId === undefined) core.tree.addUsage(child.usage)
    this.#subOperationId ??= child.subOperationId
    const { error, ...why } = failure ?? {}
    const shared = { ...this.#told(), ...this.decidedBy, executionTimeMs: this.elapsedMs }
    core.emit('afterCallAgent', { ...shared, ...child, ...why })
    if (failure !== undefined) core.emit('onCallAgentError', { ...shared, ...failure })
    return { kind: 'agent', ...child, ...this.#sub(), ...defined({ error }) }
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
    const callerName = this.core.info.agentName
    return {
      ...this.where,
      ...defined({ callerName }),
      agentId: this.#id,
      ...defined({ agentName: this.#name }),
      instruction: this.#instruction,
      callKey: this.#callKey,
      ...(this.#remote && { remote: true }),
      ...this.#server,
      ...this.#sub(),
    }
  }
}
