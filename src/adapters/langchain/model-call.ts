import { isBubbleUp } from '../../adapter/interrupts.ts'
import { currentModelCall } from '../../dispatcher/run/live-calls.ts'
import type { LlmRequest, LlmResponse } from '../../hooks/index.ts'
import { defined } from '../../internal/objects.ts'
import { asName, asObjects } from '../../wire/reading.ts'
import { configuredServer } from '../configured-server.ts'
import type { AgentRun } from './agent-run.ts'
import { instructedBy, messagesDecided } from './changed-messages.ts'
import { toolsDecided } from './changed-tools.ts'
import { hearing } from './graph-place.ts'
import { seeInnerCalls } from './inner-calls.ts'
import {
  type LcHandler,
  type LcMessage,
  type LcModelRequest,
  type LcToJsonSchema,
  type LcTool,
  loadMessages,
  loadToJsonSchema,
} from './lang-chain.ts'
import {
  generationIn,
  type LcGeneration,
  messageIn,
  plainMessages,
  readReply,
  revived,
  textOf,
} from './messages.ts'
import { providerNamed } from './providers.ts'
import { assertModelSends } from './refused-settings.ts'
import { changedAnswer } from './structured-answer.ts'

/** A model call begins a step. */
export async function callModel(
  agent: AgentRun,
  request: LcModelRequest,
  handler: LcHandler<LcModelRequest>,
): Promise<unknown> {
  const { run } = agent
  try {
    const classes = await loadMessages()
    run.assertInReach(
      (request.tools ?? [])
        .filter(({ invoke }) => typeof invoke !== 'function')
        .map((tool) => ({ name: tool.name ?? tool.type ?? 'unnamed', ranBy: 'provider' })),
    )
    seeInnerCalls(request.tools ?? [])
    await agent.goesOn(request.state)
    await agent.beginStep(request.state)
    await tellSummary(agent, request.messages)
    const calls = await run.calls()
    const asked = requestOf(request, await loadToJsonSchema())
    const model = chosenBy(request.model)
    let heard: LcGeneration | undefined
    let pieces = 0
    const init = {
      model: nameOf(model),
      ...configuredServer(model, providerOf(model)),
      request: asked,
      read: (reply: unknown) =>
        readReply(reply, heard?.message?.id === messageIn(reply).id ? heard : undefined),
      standIn: (message: LlmResponse, given?: unknown): unknown => changedAnswer(classes, message, given),
    }
    const reply = await calls.llmCall<unknown>(init, async (effective, { gated }) => {
      if (effective !== asked) await assertModelSends(request.model, asked, effective)
      const effectively = effectiveOf(request, asked, effective)
      const ask = () => handler(effectively)
      const hear = (output: unknown) => {
        heard = { ...generationIn(output), pieces }
      }
      const mark = currentModelCall()
      const came = () => {
        pieces++
        mark?.noteChunk()
      }
      return hearing({ hear, came, gated }, ask)
    })
    const said = revived(classes, reply)
    agent.answered(request, said)
    return said
  } catch (error) {
    if (isBubbleUp(error)) {
      run.waitingFor = 'human'
      await run.end()
    } else {
      await run.fail(error)
    }
    throw error
  }
}

function requestOf(request: LcModelRequest, toJsonSchema: LcToJsonSchema): LlmRequest {
  const { messages, tools = [], toolChoice, modelSettings } = request
  return {
    ...modelSettings,
    messages: plainMessages([...instructedBy(request), ...messages]),
    tools: tools.map((tool) => plainTool(tool, toJsonSchema)),
    ...defined({ tool_choice: toolChoice }),
  }
}

function plainTool({ name, type, description, schema }: LcTool, toJsonSchema: LcToJsonSchema): object {
  if (name === undefined) return { type }
  return {
    type: 'function',
    function: defined({ name, description, parameters: asJson(schema, toJsonSchema) }),
  }
}

/** What schemas are as JSON, which each model call asks for anew. */
const jsonOf = new WeakMap<object, { readonly json: unknown }>()

function asJson(schema: unknown, toJsonSchema: LcToJsonSchema): unknown {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null) return undefined
  if (!('~standard' in schema)) return made(schema, toJsonSchema)
  const known = jsonOf.get(schema) ?? { json: made(schema, toJsonSchema) }
  jsonOf.set(schema, known)
  return known.json
}

/** Nothing of a schema that LangChain cannot tell either: its model refuses that by itself. */
function made(schema: object, toJsonSchema: LcToJsonSchema): unknown {
  try {
    const json = toJsonSchema(schema)
    return json === schema && '~standard' in schema ? undefined : json
  } catch {
    return undefined
  }
}

/** What gates changed, in LangChain's words. */
function effectiveOf(request: LcModelRequest, asked: LlmRequest, effective: LlmRequest): LcModelRequest {
  if (effective === asked) return request
  const { messages, tools, tool_choice, ...settings } = effective
  return {
    ...request,
    ...(request.tools && { tools: toolsDecided(request.tools, asObjects(asked.tools), asObjects(tools)) }),
    modelSettings: { ...request.modelSettings, ...settings },
    ...defined({ toolChoice: tool_choice ?? request.toolChoice }),
    ...(messages !== asked.messages && messagesDecided(request, effective)),
  }
}

interface ModelLike {
  readonly model?: unknown
  readonly modelName?: unknown
  readonly lc_namespace?: readonly string[]
  _llmType?(): string
  getLsParams?(options: object): { readonly ls_provider?: unknown } | undefined
  /** Of `initChatModel`, which `createAgent({ model: 'openai:gpt-5' })` calls: what it was made with. */
  readonly _defaultConfig?: { readonly model?: unknown; readonly modelProvider?: unknown }
  readonly _modelInstanceCache?: unknown
}

/** The model itself, or the one behind it that it makes its calls by. */
function chosenBy(model: unknown): unknown {
  const { _defaultConfig: config, _modelInstanceCache: cache } = (model ?? {}) as ModelLike
  if (config === undefined) return model
  const made: unknown[] = cache instanceof Map ? [...cache.values()] : []
  if (made.length === 1 && nameOf(made[0]) === config.model) return made[0]
  return { model: config.model, lc_namespace: [config.modelProvider] }
}

function nameOf(model: unknown): string {
  if (typeof model === 'string' && model !== '') return model
  const { model: named, modelName, _llmType } = (model ?? {}) as ModelLike
  const name = [named, modelName].find((one) => typeof one === 'string' && one !== '')
  return (name as string | undefined) ?? _llmType?.call(model) ?? 'unknown'
}

/** By what LangChain says, and the package that the model is of (`langchain_anthropic`, `@langchain/google-genai`, ...). */
function providerOf(model: unknown): string {
  const { lc_namespace = [], _llmType } = (model ?? {}) as ModelLike
  const named = typeof model === 'string' ? model.split(':')[0] : ''
  return providerNamed(ownProvider(model), named, ...lc_namespace, _llmType?.call(model))
}

/** Asked without the options of a call, which a model may count on. */
function ownProvider(model: unknown): string | undefined {
  try {
    return asName((model as ModelLike | undefined)?.getLsParams?.({})?.ls_provider)
  } catch {
    return undefined
  }
}

/** A summary stands where messages of the last request stood. It is over when it is noticed. */
async function tellSummary(agent: AgentRun, messages: readonly LcMessage[]): Promise<void> {
  const before = agent.seen
  agent.seen = messages.map(({ id }) => id)
  const gone = before.filter((id) => id !== undefined && !agent.seen.includes(id))
  const summary = messages.find(({ additional_kwargs }) => additional_kwargs?.lc_source === 'summarization')
  if (summary === undefined || before.length === 0 || gone.length === 0) return
  const calls = await agent.run.calls()
  const call = calls.openCompaction({ messageCount: before.length, tokenCount: 0 })
  await call.decided
  call.settle({ messagesAfter: messages.length, summary: textOf(summary) })
}
