import { isGraphInterrupt } from '../../adapter/interrupts.ts'
import { RunSuspended } from '../../dispatcher/calls/suspended.ts'
import type { HookDispatcher } from '../../dispatcher/index.ts'
import type { AdapterInfo } from '../../dispatcher/run/capabilities.ts'
import { currentPlace } from '../../dispatcher/run/current.ts'
import { currentModelCall } from '../../dispatcher/run/live-calls.ts'
import { jsonIn } from '../../internal/json.ts'
import { defined, isRecord } from '../../internal/objects.ts'
import { asName, asObject } from '../../wire/reading.ts'
import { configuredServer } from '../configured-server.ts'
import { startOperation } from '../safe/operation.ts'
import { whenGone } from '../when-gone.ts'
import { LANGGRAPH_CAPABILITIES } from './capabilities.ts'
import type { LcMessage } from './lang-chain.ts'
import { generationIn, plainMessages, readGeneration, readReply } from './messages.ts'
import { providerNamed } from './providers.ts'
import { type Going, goingOf, interrupt, isTop, OURS, operationOf, type Root } from './told-graphs.ts'
import { messageIn, saidBy } from './tool-call.ts'

const ADAPTER: AdapterInfo = { name: 'langgraph', capabilities: LANGGRAPH_CAPABILITIES }

/** What callbacks are told, made hooks and spans. */
export class ToldRuns {
  readonly #dispatcher: HookDispatcher
  readonly #agentName: string | undefined
  readonly #going: Going

  constructor({ dispatcher, agentName }: { dispatcher: HookDispatcher; agentName?: string }) {
    this.#dispatcher = dispatcher
    this.#agentName = agentName
    this.#going = goingOf(dispatcher)
  }

  #below(
    runId: string,
    parentRunId: string | undefined,
    name: unknown,
    input: unknown,
    thread?: string,
  ): Root {
    const agentName = this.#agentName ?? asName(name)
    const start = () => {
      const waited = thread === undefined ? undefined : this.#going.takeParked(thread)
      const resume = goesOn(input) ? waited : undefined
      if (waited !== undefined && waited !== resume) interrupt(this.#dispatcher, ADAPTER, waited)
      const init = resume === undefined ? { input: inputOf(input) } : { resume }
      return startOperation(this.#dispatcher, { adapter: ADAPTER, ...defined({ agentName, ...init }) })
    }
    return this.#going.below(runId, parentRunId, start)
  }

  readonly chainStart = (
    _chain: unknown,
    input: unknown,
    runId: string,
    parentRunId?: string,
    _tags?: unknown,
    metadata?: unknown,
    _type?: unknown,
    name?: unknown,
  ): void => {
    if (this.#going.roots.has(runId)) return
    // One that a tool or a run calls is of that, whose next one is another.
    const thread = currentPlace() === undefined ? threadOf(name, metadata) : undefined
    const root = this.#below(runId, parentRunId, name, input, thread)
    const { langgraph_checkpoint_ns: node, ls_integration: integration } = asObject(metadata) ?? {}
    if (root.agent === undefined && !mayBeOurs(integration, name, isTop(root, runId))) operationOf(root)
    if (!isTop(root, runId)) {
      if (parentRunId !== undefined) this.#going.beginNode(root, node, parentRunId, runId)
      return
    }
    root.thread = thread
    // Of a run whose stream was left LangGraph may say nothing: it is over when nothing is left of it.
    const over = () => void this.#going.end(runId, { left: true }).catch(() => {})
    if (isRecord(metadata)) whenGone(metadata, over)
  }

  /** Told by what graph it is, of breakpoints (`interruptBefore`) too, which no node throws. */
  readonly interrupted = ({ runId = '' }: { runId?: string } = {}): void => {
    const root = this.#going.roots.get(runId)
    if (root !== undefined) root.waits = true
  }

  readonly chainEnd = async (output: unknown, runId: string): Promise<void> => {
    const { op, asked, agent } = this.#going.roots.get(runId) ?? {}
    if (op !== undefined && agent === undefined) await asked?.tell(op, output)
    const messages = asObject(output)?.messages
    const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined
    const content = isRecord(last) ? readReply(last).response.content : undefined
    return this.#going.end(runId, defined({ content }))
  }

  readonly chainError = (error: unknown, runId: string): Promise<void> => {
    // A node that asks stops the graph, which ends without an error.
    const root = this.#going.roots.get(runId)
    if (isGraphInterrupt(error) && root !== undefined) root.waits = true
    return this.#going.end(runId, { error })
  }

  #model(
    about: unknown,
    request: object,
    runId: string,
    parentRunId: string | undefined,
    metadata: unknown,
  ): void {
    const { ls_model_name, ls_provider } = asObject(metadata) ?? {}
    const known = asObject(about)
    const id: readonly unknown[] = Array.isArray(known?.id) ? known.id : []
    const model = asName(ls_model_name) ?? asName(known?.name) ?? asName(id.at(-1)) ?? 'unknown'
    if (this.#going.models.has(runId)) return
    const root = this.#below(runId, parentRunId, model, undefined)
    if (root.agent !== undefined) return
    // The model tells how it was configured, and leaves its keys out.
    const server = configuredServer(known?.kwargs, providerNamed(asName(ls_provider), ...id))
    const init = { model, ...server, request: { ...request }, read: readGeneration }
    const call = operationOf(root).openLlmCall(init)
    this.#going.models.set(runId, { call, parentRunId, toldBy: this, pieces: 0 })
  }

  readonly chatStart = (
    about: unknown,
    messages: readonly (readonly LcMessage[])[],
    runId: string,
    parentRunId?: string,
    extra?: { invocation_params?: { tools?: unknown } },
    _tags?: unknown,
    metadata?: unknown,
  ): void => {
    const tools = extra?.invocation_params?.tools
    const request = { messages: plainMessages(messages[0] ?? []), ...defined({ tools }) }
    this.#model(about, request, runId, parentRunId, metadata)
  }

  readonly llmStart = (
    about: unknown,
    prompts: readonly string[],
    runId: string,
    parentRunId?: string,
    _extra?: unknown,
    _tags?: unknown,
    metadata?: unknown,
  ): void => this.#model(about, { prompt: prompts[0] ?? '' }, runId, parentRunId, metadata)

  readonly llmNewToken = (_token: unknown, _at: unknown, runId: string): void => {
    const asked = this.#going.models.get(runId)
    if (asked?.toldBy !== this) return
    asked.pieces++
    asked.mark ??= asked.call.run(() => currentModelCall())
    asked.mark?.noteChunk()
  }

  readonly llmEnd = async (output: unknown, runId: string): Promise<void> => {
    const { models } = this.#going
    const { call, pieces = 0 } = models.get(runId) ?? {}
    models.delete(runId)
    const { op, asked } = this.#going.roots.get(runId) ?? {}
    const generation = generationIn(output)
    await call?.settle({ ...generation, pieces })
    const { message } = generation ?? {}
    if (call !== undefined && op !== undefined && message !== undefined) await asked?.asked(op, message)
    await this.#going.end(runId, {})
  }

  readonly llmError = (error: unknown, runId: string): Promise<void> => {
    const { models } = this.#going
    models.get(runId)?.call.fail(error)
    models.delete(runId)
    return this.#going.end(runId, { error })
  }

  readonly toolStart = (
    about: unknown,
    input: string,
    runId: string,
    parentRunId?: string,
    _tags?: unknown,
    _metadata?: unknown,
    name?: unknown,
    toolCallId?: unknown,
  ): void => {
    const apiName = asName(name) ?? asName(asObject(about)?.name) ?? 'unnamed'
    if (this.#going.tools.has(runId)) return
    const root = this.#below(runId, parentRunId, apiName, input)
    if (root.agent !== undefined) return
    const id = asName(toolCallId)
    root.asked.made(id, apiName)
    const init = { apiName, args: jsonIn(input, input), ...defined({ toolCallId: id }) }
    this.#going.tools.set(runId, { call: operationOf(root).openToolCall(init), id })
  }

  readonly toolEnd = async (output: unknown, runId: string): Promise<void> => {
    const { tools } = this.#going
    const { call, id } = tools.get(runId) ?? {}
    tools.delete(runId)
    const said = messageIn(output, { toolCall: { id } })
    await call?.settle(said === undefined ? output : saidBy(said))
    await this.#going.end(runId, {})
  }

  readonly toolError = async (error: unknown, runId: string): Promise<void> => {
    const { roots, tools } = this.#going
    const { call } = tools.get(runId) ?? {}
    const root = roots.get(runId)
    tools.delete(runId)
    const waits = isGraphInterrupt(error)
    if (waits && root !== undefined) root.waits = true
    await call?.fail(waits ? new RunSuspended() : error)
    await this.#going.end(runId, { error })
  }
}

/** Whether what begins may be of an agent that our middleware tells. Inside of a graph an agent is called a graph. */
function mayBeOurs(integration: unknown, name: unknown, isOutermost: boolean): boolean {
  if (integration === 'langchain_create_agent') return true
  return isOutermost ? integration !== undefined : name === '__start__' || name === `${OURS}.before_agent`
}

/** Of a graph that keeps its state. */
function threadOf(name: unknown, metadata: unknown): string | undefined {
  const { thread_id } = asObject(metadata) ?? {}
  return typeof thread_id === 'string' ? `${String(name)} ${thread_id}` : undefined
}

/** Whether a graph is called with the answer that it waits for, or with nothing new. */
function goesOn(input: unknown): boolean {
  const { lg_name, resume, input: begun } = asObject(input) ?? {}
  return lg_name === 'Command' ? resume !== undefined : begun === null
}

function inputOf(input: unknown): unknown {
  const messages = asObject(input)?.messages
  return Array.isArray(messages) && messages.every((one) => typeof one === 'object')
    ? plainMessages(messages as LcMessage[])
    : input
}
