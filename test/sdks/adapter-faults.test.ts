import type { ContractReply } from 'hookspan/adapter/contract'
import { hookspanPlugin } from 'hookspan/google-adk'
import { observeMastra } from 'hookspan/mastra'
import { observeStrands } from 'hookspan/strands'
import OpenAI from 'openai'
import { scripted } from '../adapter/subjects/ai-sdk.ts'
import {
  endpoint,
  eventsOf,
  NAMES,
  observed,
  PARAMETERS,
  type Program,
  REPLIES,
} from '../attack/adapter-faults/programs.ts'
import { faultSuites } from '../attack/adapter-faults/suites.ts'
import type { World } from '../attack/adapter-faults/told.ts'
import { ScriptedLlm } from './subjects/google-adk.ts'
import type { Untyped } from './support/sdks.ts'

type Attach = Parameters<Program['run']>[1]

/** By names that nobody looks up where the SDKs are not installed. */
const SDKS = {
  strands: '@strands-agents/sdk',
  strandsModels: '@strands-agents/sdk/models/openai',
  adk: '@google/adk',
  mastra: '@mastra/core/agent',
  mastraTools: '@mastra/core/tools',
}

const strands: Untyped = await import(SDKS.strands)
const { OpenAIModel }: Untyped = await import(SDKS.strandsModels)
const adk: Untyped = await import(SDKS.adk)
const mastra: Untyped = { ...(await import(SDKS.mastra)), ...(await import(SDKS.mastraTools)) }

const strandsAgent = (world: World, dispatcher: Attach): Untyped => {
  const client = new OpenAI({ apiKey: 'k', fetch: endpoint(world), maxRetries: 0 })
  const tools = NAMES.map((name) =>
    strands.tool({
      name,
      description: name,
      inputSchema: PARAMETERS,
      callback: (args: unknown) => world.tool(name, args),
    }),
  )
  const model = new OpenAIModel({ api: 'responses', modelId: 'contract', client })
  const agent = new strands.Agent({ name: 'support', model, tools, printer: false })
  return observed<Untyped>(agent, dispatcher, (to) => observeStrands(agent, { dispatcher: to }))
}

const ofStrands: Program = {
  name: 'strands',
  everyNth: 11,
  async run(world, dispatcher) {
    const agent = strandsAgent(world, dispatcher)
    const { stopReason, lastMessage } = await agent.invoke(
      'go',
      world.signal && { cancelSignal: world.signal },
    )
    return { stopReason, lastMessage, messages: agent.messages }
  },
  async stream(world, dispatcher) {
    const events = strandsAgent(world, dispatcher).stream(
      'go',
      world.signal && { cancelSignal: world.signal },
    )
    const seen = (await eventsOf(world, events)) as { type: string }[]
    return seen.map(({ type }) => type)
  },
}

/** The model that its tests have, which tells when it is asked. */
class Model extends ScriptedLlm {
  readonly #world: World

  constructor(world: World, replies: readonly ContractReply[]) {
    super(replies)
    this.#world = world
  }

  override async *generateContentAsync(request: Untyped, stream = false) {
    this.#world.moment()
    yield* super.generateContentAsync(request, stream)
  }
}

async function* adkEvents(world: World, dispatcher: Attach, streamingMode: unknown) {
  const tools = NAMES.map(
    (name) =>
      new adk.FunctionTool({
        name,
        description: name,
        parameters: PARAMETERS,
        execute: (args: unknown) => world.tool(name, args),
      }),
  )
  const runner = new adk.InMemoryRunner({
    agent: new adk.LlmAgent({ name: 'support', model: new Model(world, REPLIES), tools }),
    appName: 'faults',
    plugins: observed<Untyped[]>([], dispatcher, (to) => [hookspanPlugin({ dispatcher: to })]),
  })
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'faults', userId: 'u' })
  yield* runner.runAsync({
    userId: 'u',
    sessionId,
    newMessage: { role: 'user', parts: [{ text: 'go' }] },
    runConfig: { streamingMode },
    ...(world.signal && { abortSignal: world.signal }),
  })
}

/** Without what is made up for each run. */
const told = (events: unknown[]) =>
  events.map((event) => {
    const { author, content, partial, errorCode, errorMessage, finishReason } = event as Record<
      string,
      unknown
    >
    return { author, content, partial, errorCode, errorMessage, finishReason }
  })

const ofAdk: Program = {
  name: 'google-adk',
  run: async (world, dispatcher) =>
    told(await eventsOf(world, adkEvents(world, dispatcher, adk.StreamingMode.NONE))),
  stream: async (world, dispatcher) =>
    told(await eventsOf(world, adkEvents(world, dispatcher, adk.StreamingMode.SSE))),
}

const mastraAgent = (world: World, dispatcher: Attach): Untyped => {
  const tools = NAMES.map((id) => {
    const execute = (args: unknown) => world.tool(id, args)
    return [id, mastra.createTool({ id, description: id, inputSchema: PARAMETERS, execute })]
  })
  const agent = new mastra.Agent({
    id: 'support',
    name: 'support',
    instructions: '',
    model: scripted(REPLIES),
    tools: Object.fromEntries(tools),
  })
  return observed<Untyped>(agent, dispatcher, (to) => observeMastra(agent, { dispatcher: to }))
}

const ofMastra: Program = {
  name: 'mastra',
  async run(world, dispatcher) {
    const options = world.signal && { abortSignal: world.signal }
    const { text, finishReason, steps } = await mastraAgent(world, dispatcher).generate('go', options)
    return { text, finishReason, steps: steps.map((step: Untyped) => [step.text, step.finishReason]) }
  },
  async stream(world, dispatcher) {
    const options = world.signal && { abortSignal: world.signal }
    const { fullStream } = await mastraAgent(world, dispatcher).stream('go', options)
    const chunks = (await eventsOf(world, fullStream)) as { type: string; payload?: { text?: string } }[]
    return chunks.map(({ type, payload }) => [type, payload?.text])
  },
}

faultSuites([ofStrands, ofAdk, ofMastra])
