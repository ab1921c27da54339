import { AsyncLocalStorage } from 'node:async_hooks'
import { ToolResult, tellsFailure, wordsOf } from '../../dispatcher/calls/tool-outcome.ts'
import type { ToolOutcome } from '../../dispatcher/index.ts'
import { currentPlace } from '../../dispatcher/run/current.ts'
import { within } from '../../internal/async.ts'
import { HookspanError } from '../../internal/errors.ts'
import { defined, isRecord } from '../../internal/objects.ts'
import { asName, asObject, type Loose } from '../../wire/reading.ts'
import { currentCalls } from '../safe/calls.ts'
import { ObservedRun, type RunHost } from '../sdk-run/observed-run.ts'
import { type AnnouncedCall, AnnouncedCalls, type Naming } from './announced.ts'
import { BuiltIns } from './built-ins.ts'
import { Lane } from './lane.ts'
import {
  type CopilotConfig,
  type CopilotEvent,
  type CopilotSession,
  type CopilotTool,
  isRunHere,
  type ToolHandler,
  type ToolInvocation,
} from './sdk.ts'
import { type SubAgent, SubAgents } from './sub-agents.ts'
import { handedOver, pendingRequest, WaitingCalls } from './waiting.ts'

/** A Copilot that does not answer in this time hears of the call all the same. */
const STOPPED_WITHIN_MS = 1_000

/** From a prompt until the session is idle. */
export class SessionRun {
  readonly run: ObservedRun
  readonly builtIns: BuiltIns
  readonly announced = new AnnouncedCalls()
  /** Ids of the calls that are told. */
  readonly #asked = new Set<string>()
  readonly agents: SubAgents
  readonly #lane: Lane
  readonly #calls: WaitingCalls
  readonly #config: CopilotConfig
  readonly #controller = new AbortController()
  /** As the caller's code had it: Copilot's messages come from elsewhere. */
  readonly #within = AsyncLocalStorage.snapshot()
  readonly #over = Promise.withResolvers<HookspanError | undefined>()
  /** Events are told one after the other. */
  #told: Promise<unknown> = Promise.resolve()
  readonly #stop: () => Promise<void>
  isEnding = false
  #isSuspended = false

  constructor(
    host: RunHost,
    config: CopilotConfig,
    said: {
      readonly agentName: string
      readonly sessionId: string
      readonly prompt: string | undefined
      stop(): Promise<void>
      session(): CopilotSession | undefined
    },
  ) {
    const { systemMessage: system, tools, model, provider } = config
    this.#stop = said.stop
    this.#config = config
    this.#calls = new WaitingCalls(said.session)
    this.run = new ObservedRun(
      host,
      defined({
        agentName: config.agent ?? said.agentName,
        conversationId: said.sessionId,
        input: said.prompt,
        instructions: system?.mode === 'replace' ? asName(system.content) : undefined,
        tools: [
          ...(tools ?? []).map(({ name }) => ({ name })),
          // What Copilot has of its own is not known by name.
          ...(otherTool(config) === undefined ? [] : [{ name: '*' }]),
        ],
        signal: this.#controller.signal,
      }),
    )
    this.builtIns = new BuiltIns(this)
    const api = provider?.type ?? 'github'
    this.agents = new SubAgents({
      host,
      signal: this.run.signal,
      provider: api,
      beside: () => this.run.run(() => currentCalls()),
      left: (agentId) => this.builtIns.over(agentId),
    })
    this.#lane = new Lane(this.run, api, model ?? 'unknown', offered(tools))
    try {
      const mocked = this.run.run(() => currentPlace()?.core.standIns().length ?? 0) > 0
      assertMockable(mocked, config)
    } catch (error) {
      void this.run.fail(error)
      throw error
    }
  }

  /** Rejects with what refuses the run. Gives the prompt as gates made it. */
  async admit(): Promise<string> {
    const input = await this.run.admit()
    const prompt = asName(input) ?? asName(this.run.input) ?? ''
    if (prompt !== '') this.#lane.asked(prompt)
    return prompt
  }

  /** What the run's result was refused with, once it is over. */
  get over(): Promise<HookspanError | undefined> {
    return this.#over.promise
  }

  /** Once all that Copilot has said so far is told. */
  get told(): Promise<unknown> {
    return this.#told
  }

  hear(event: CopilotEvent): void {
    const { type, data = {}, agentId } = event
    this.#calls.hear(event)
    if (type === 'tool.execution_complete' && data.success === false) {
      const call = this.announced.find(asName(data.toolCallId), agentId)
      this.#next(() => this.#unrun(call, asObject(data.error) ?? {}))
    }
    this.announced.hear(event)
    this.agents.hear(event)
    this.#next(() => this.agents.told(event))
    if (agentId !== undefined) return
    this.#next(() => this.#lane.told(event))
    if (type === 'session.error') this.end(new Error(asName(data.message) ?? 'the session failed'))
    if (type === 'session.idle') this.end()
    if (type === 'abort' && !this.run.isStopped) this.aborted()
  }

  /** Of a call that failed before its tool could tell, or was not permitted, Copilot alone says why. */
  async #unrun(call: AnnouncedCall | undefined, { message, code }: Loose): Promise<void> {
    const apiName = asName(call?.name)
    if (call === undefined || apiName === undefined || this.run.signal?.aborted) return
    const { id: toolCallId, agentId, args } = call
    const reason = asName(message) ?? 'Copilot did not say why it was not run.'
    const refused = { kind: 'deny', code: 'tool_approval', reason } as const
    const why = code === 'denied' || code === 'rejected' ? refused : { error: new Error(reason) }
    if ((await this.builtIns.unrun(toolCallId, agentId, why)) || this.#asked.has(toolCallId)) return
    const calls = (await this.agents.of(agentId))?.calls() ?? (await this.run.calls())
    const init = { toolCallId, args, ...this.naming(apiName, call) }
    if ('error' in why) await calls.failedCall(init, why.error)
    else await calls.toolCall({ ...init, refused }, () => Promise.reject(new Error(reason)))
  }

  /** Whose tool it is: a server's, the user's, also where it is answered elsewhere, or Copilot's. */
  naming(apiName: string, announced: AnnouncedCall | undefined): Naming {
    if (announced?.onServer !== undefined) return announced.onServer
    return this.#config.tools?.some(({ name }) => name === apiName)
      ? { apiName }
      : { apiName, identifier: 'copilot' }
  }

  asked(toolCallId: string | undefined): void {
    if (toolCallId !== undefined) this.#asked.add(toolCallId)
  }

  aborted(): void {
    this.#controller.abort(new DOMException('The session was aborted.', 'AbortError'))
  }

  end(error?: unknown): void {
    if (this.isEnding) return
    this.isEnding = true
    this.#next(async () => {
      this.#lane.over(error)
      await this.builtIns.over()
      await this.agents.over()
      if (error === undefined || this.run.isStopped)
        this.#over.resolve(await this.run.end(this.#lane.content))
      else await this.run.fail(error)
    })
    this.#next(async () => this.#over.resolve(undefined))
  }

  #next(tell: () => Promise<void>): void {
    // What we fail at is none of the agent's.
    this.#told = this.#told.then(tell).catch(() => {})
  }

  /**
   * By a gate or a human, also for an agent: one alone cannot be ended. Before Copilot hears what came of the call, which its model
   * would otherwise be asked about once more.
   */
  async stopIfAsked(agent?: SubAgent): Promise<void> {
    if (!this.run.isStopped && agent?.op.stopRequested === undefined) return
    await within(
      STOPPED_WITHIN_MS,
      this.#stop().catch(() => {}),
    )
  }

  ended(toolCallId: string | undefined): void {
    this.#calls.ended(toolCallId)
  }

  /** Goes on with a parked run: the calls that wait are decided on again, and Copilot is told what came of them. */
  async goOn(session: CopilotSession): Promise<void> {
    const events = await session.getEvents()
    await this.#lane.remember(events)
    const pending = (this.run.resumed?.waiting ?? []).map(({ toolCallId = '', apiName = '' }) => {
      const asked = pendingRequest(events, toolCallId)
      const tool = this.#config.tools?.find(({ name }) => name === apiName)
      if (asked === undefined || tool?.handler === undefined) throw unknownCall(apiName)
      this.#calls.began(toolCallId)
      const { requestId, args } = asked
      const { sessionId } = session
      const invocation = {
        sessionId,
        toolCallId,
        toolName: apiName,
        arguments: args,
        signal: this.#controller.signal,
      }
      return { tool, handler: tool.handler, requestId, args, invocation }
    })
    const answered = Promise.all(
      pending.map(async ({ tool, handler, requestId, args, invocation }) => {
        const answer = await this.callTool(tool, handler, args, invocation).then(
          (result) => ({ result: handedOver(result) }),
          (error: unknown) => ({ error: error instanceof Error ? error.message : String(error) }),
        )
        // Asked again too early: it stays pending.
        if (!this.#isSuspended) await hand(session, requestId, answer)
        this.#calls.ended(invocation.toolCallId)
      }),
    )
    await Promise.race([answered, this.over])
  }

  /** The call waits for a human elsewhere, and the session with it. */
  async #park({ toolCallId }: ToolInvocation): Promise<unknown> {
    this.run.waitingFor = 'human'
    this.#calls.waits(toolCallId)
    try {
      await this.#calls.suspended
    } catch (error) {
      this.run.waitingFor = undefined
      throw new Error('The call waits for a human, and Copilot could not suspend the session.', {
        cause: error,
      })
    }
    this.#isSuspended = true
    this.end()
    // Copilot does not hear of it any more.
    return undefined
  }

  /** A tool of the user's, which runs in this process. */
  async callTool(
    tool: CopilotTool,
    own: ToolHandler,
    args: unknown,
    invocation: ToolInvocation,
    parkable = true,
  ): Promise<unknown> {
    const { toolCallId } = invocation
    this.asked(toolCallId)
    const agentId = this.agents.areAtWork ? await this.announced.agentOf(toolCallId, args) : undefined
    const agent = await this.agents.of(agentId)
    await this.#told
    const calls = agent?.calls() ?? (await this.run.calls())
    const call = calls.openToolCall<unknown, unknown>({
      toolCallId,
      apiName: tool.name,
      args,
      ...(!parkable && { parkable }),
      ...defined({ description: tool.description, inputSchema: schemaOf(tool.parameters) }),
    })
    const decided = await call.decided
    if (decided.state === 'waiting') return this.#park(invocation)
    const outcome = await this.#within(() =>
      call.run(async (effective) => toldOf(await own(effective, { ...invocation, arguments: effective }))),
    )
    await this.stopIfAsked(agent)
    return givenOf(outcome)
  }
}

/** @throws HookspanError `INVALID_CALL` where Copilot does not want it any more. */
async function hand(session: CopilotSession, requestId: string, answer: Loose): Promise<void> {
  const told = await session.rpc.tools.handlePendingToolCall({ requestId, ...answer })
  if (asObject(told)?.success === false) throw unknownCall()
}

function unknownCall(apiName = 'a tool'): HookspanError {
  return new HookspanError(
    'INVALID_CALL',
    `The session does not have the call of ${apiName} pending that the run waits for. Resume the session with that tool, ` +
      'and with `continuePendingWork: true`.',
  )
}

/** As the model is offered them, without what Copilot adds of its own. */
function offered(tools: CopilotConfig['tools'] = []): Loose[] {
  return tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: defined({ name, description, parameters: isJsonSchema(parameters) ? parameters : undefined }),
  }))
}

const isJsonSchema = (schema: unknown) =>
  isRecord(schema) && typeof schema.type === 'string' && !('~standard' in schema)

/** What a tool gave; of one that tells in Copilot's own way that it failed, as such. */
function toldOf(result: unknown): unknown {
  const { textResultForLlm: content, resultType = 'success' } = asObject(result) ?? {}
  return typeof content === 'string' && resultType !== 'success'
    ? new ToolResult({ content, success: false, data: result })
    : result
}

/** What Copilot tells the model. @throws what the tool threw. */
function givenOf(outcome: ToolOutcome): unknown {
  if ('result' in outcome) {
    const { result } = outcome
    if (asObject(result)?.textResultForLlm !== undefined) return result
    return tellsFailure(outcome)
      ? { textResultForLlm: outcome.toToolMessage().content, resultType: 'failure' }
      : (wordsOf(outcome) ?? result)
  }
  if (outcome.state === 'errored') throw outcome.error
  return { textResultForLlm: outcome.toToolMessage().content, resultType: 'denied' }
}

/** A JSON Schema, or one of a library that says what it is. */
function schemaOf(parameters: unknown): unknown {
  return typeof parameters === 'object' && parameters !== null ? parameters : undefined
}

/**
 * What Copilot runs by itself cannot be mocked.
 *
 * @throws HookspanError `NOT_CAPABLE`.
 */
function assertMockable(mocked: boolean, config: CopilotConfig): void {
  const other = mocked ? otherTool(config) : undefined
  if (other === undefined) return
  throw new HookspanError(
    'NOT_CAPABLE',
    `Tools are mocked, and the session has ${other}, which is not run here: it would run live. ` +
      "Name the tools of this process in `availableTools`, such as ['custom:*'].",
  )
}

/** A tool whose code is not here, as far as it is known. */
function otherTool(config: CopilotConfig): string | undefined {
  const available = listOf(config.availableTools)
  if (available === undefined) return 'a tool of its own'
  const declared = config.tools?.filter(({ handler }) => handler === undefined).map(({ name }) => name) ?? []
  const named = available.flatMap((name) => (name === 'custom:*' ? declared : String(name)))
  return named.find((name) => !isRunHere(config, name.replace(/^custom:/, '')))
}

/** A list, or a `ToolSet` of the SDK. */
function listOf(available: unknown): readonly unknown[] | undefined {
  if (Array.isArray(available)) return available
  const set = available as { toArray?(): readonly unknown[] } | null | undefined
  return typeof set?.toArray === 'function' ? set.toArray() : undefined
}
