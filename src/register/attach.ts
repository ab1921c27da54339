import type * as AiSdk from '../adapters/ai-sdk/index.ts'
import type * as Anthropic from '../adapters/anthropic/index.ts'
import type * as ClaudeAgent from '../adapters/claude-agent/index.ts'
import type * as Copilot from '../adapters/copilot/index.ts'
import type * as GoogleAdk from '../adapters/google-adk/index.ts'
import type * as GoogleGenAI from '../adapters/google-genai/index.ts'
import type * as LangChain from '../adapters/langchain/index.ts'
import type * as Mastra from '../adapters/mastra/index.ts'
import type * as Mcp from '../adapters/mcp/index.ts'
import type * as OpenAI from '../adapters/openai/index.ts'
import type * as OpenAIAgents from '../adapters/openai-agents/index.ts'
import type * as Peers from '../adapters/peer-range.ts'
import type * as Strands from '../adapters/strands/index.ts'
import type { HookDispatcher, Operation } from '../dispatcher/index.ts'
import {
  type Attach,
  type Attaching,
  eachCalled,
  eachClientAndRunner,
  eachNew,
  untold,
} from './each-object.ts'
import { packageOf } from './installed.ts'
import { loneWorkflows } from './lone-workflows.ts'
import type { Loaded } from './module-hooks.ts'
import { PACKAGES } from './packages.ts'
import { report } from './report.ts'
import { requireOwn } from './require-own.ts'
import { decidingRunner } from './responses-runner.ts'
import { scriptName } from './run-bounds.ts'
import { attached, notAttached, refused } from './unattached.ts'

const adapter = <T>(name: string): T => requireOwn(`../adapters/${name}/index.js`)

const mcp = () => adapter<typeof Mcp>('mcp')

/** What begins runs of an agent of Mastra. */
const MASTRA_CALLS = [
  'generate',
  'stream',
  'resumeGenerate',
  'resumeStream',
  'network',
  'resumeNetwork',
  'generateLegacy',
  'streamLegacy',
]

const openai = eachClientAndRunner(
  'OpenAI',
  ({ Chat, Beta }) => [
    [Chat?.Completions, 'runTools', ({ chat }) => chat?.completions],
    [Beta?.Agents?.Sessions, 'create', ({ beta }) => beta?.agents?.sessions],
    [Beta?.Agents?.Sessions, 'stream', ({ beta }) => beta?.agents?.sessions],
  ],
  (client, options) => adapter<typeof OpenAI>('openai').observeOpenAI(client, options),
)

/** A client of another provider that speaks as `openai` does. */
const other = (className: string) =>
  eachClientAndRunner(
    className,
    () => [],
    (client, options) => adapter<typeof OpenAI>('openai').observeOpenAI(client, options),
  )

const anthropic = eachClientAndRunner(
  'Anthropic',
  ({ Messages, Beta }) => [
    // These begin a span of the SDK before they ask for the reply.
    [Messages, 'create', ({ messages }) => messages],
    [Beta?.Messages, 'create', ({ beta }) => beta?.messages],
    [Beta?.Messages, 'toolRunner', ({ beta }) => beta?.messages],
    [Beta?.Messages, 'thread', ({ beta }) => beta?.messages],
    [Beta?.Sessions?.Events, 'toolRunner', ({ beta }) => beta?.sessions?.events],
    [Beta?.Environments?.Work, 'worker', ({ beta }) => beta?.environments?.work],
  ],
  (client, options) => adapter<typeof Anthropic>('anthropic').observeAnthropic(client, options),
)

/** By what a program writes to load it. */
const ATTACH: Readonly<Record<string, Attach>> = {
  openai,
  'openai/client': openai,
  'openai/helpers/responses-tool-runner': decidingRunner,
  'groq-sdk': other('Groq'),
  'together-ai': other('Together'),
  '@cerebras/cerebras_cloud_sdk': other('Cerebras'),
  '@anthropic-ai/sdk': anthropic,
  '@anthropic-ai/sdk/client': anthropic,
  '@openai/agents-core': (exports, { dispatcher }) =>
    void adapter<typeof OpenAIAgents>('openai-agents').observeAgents(exports, { dispatcher }),
  ai: (exports, { dispatcher }) =>
    adapter<typeof AiSdk>('ai-sdk').observeAISDK(exports, {
      dispatcher,
      agentName: scriptName(),
    }) as Loaded['exports'],
  langchain: (exports, { dispatcher }) => ({
    createAgent: (params: AgentParams, ...more: unknown[]) => {
      const { hookspanCallbacks, hookspanMiddleware } = adapter<typeof LangChain>('langchain')
      const { middleware = [], name } = params
      const createAgent = exports.createAgent as (...args: unknown[]) => LangChainAgent
      if (middleware.some((one) => one.name === 'hookspan')) return createAgent(params, ...more)
      const ours = hookspanMiddleware({
        dispatcher,
        agentName: typeof name === 'string' && name !== '' ? name : scriptName(),
        // LangChain ends a run whose tool throws where one is.
        toolErrors: middleware.some(({ wrapToolCall }) => wrapToolCall !== undefined) ? 'throw' : 'tell',
      })
      const agent = createAgent({ ...params, middleware: [ours, ...middleware] }, ...more)
      // Told of an end that comes before the last node, too.
      return agent.withConfig({ callbacks: [hookspanCallbacks({ dispatcher })] })
    },
  }),
  '@google/genai': eachNew('GoogleGenAI', (client, { dispatcher, bounds }) => {
    adapter<typeof GoogleGenAI>('google-genai').observeGoogleGenAI(client, {
      dispatcher,
      operationOf: bounds.operationOf,
      agentName: scriptName(),
    })
    const { live } = client as { live?: { connect?: Sdk } }
    const connect = live?.connect
    if (live === undefined || connect === undefined) return
    live.connect = async (...args) => {
      notAttached(dispatcher, 'a live session of a GoogleGenAI is not attached: hookspan knows its requests.')
      return connect.apply(live, args)
    }
  }),
  '@modelcontextprotocol/sdk/client': eachNew('Client', observeMcpClient),
  '@modelcontextprotocol/sdk/client/index.js': eachNew('Client', observeMcpClient),
  '@modelcontextprotocol/client': eachNew('Client', observeMcpClient),
  '@modelcontextprotocol/sdk/server': eachNew('Server', observeMcpServer),
  '@modelcontextprotocol/sdk/server/index.js': eachNew('Server', observeMcpServer),
  '@modelcontextprotocol/sdk/server/mcp.js': eachNew('McpServer', observeMcpServer),
  '@modelcontextprotocol/server': (exports, to) => ({
    ...eachNew('McpServer', observeMcpServer)(exports, to),
    ...eachNew('Server', observeMcpServer)(exports, to),
  }),
  '@anthropic-ai/claude-agent-sdk': ({ query: own, prewarm }, { dispatcher }) => {
    const { observeClaudeAgent } = adapter<typeof ClaudeAgent>('claude-agent')
    const observed = observeClaudeAgent(own as ClaudeQuery, { dispatcher })
    // None that is known as observed: a program that observes it by itself does so with its own dispatcher.
    const query: ClaudeQuery = (params) => observed(params)
    const startups = { query, startup: startupOf(query) }
    return typeof prewarm === 'function'
      ? { ...startups, prewarm: sparing(prewarm as Sdk, dispatcher) }
      : startups
  },
  '@mastra/core/agent': eachCalled('Agent', MASTRA_CALLS, (agent, { dispatcher }) =>
    adapter<typeof Mastra>('mastra').observeMastra(agent, { dispatcher }),
  ),
  '@mastra/core/workflows': loneWorkflows('Workflow'),
  '@mastra/core/workflows/evented': loneWorkflows('EventedWorkflow'),
  '@strands-agents/sdk': eachCalled('Agent', ['stream'], (agent, { dispatcher }) =>
    adapter<typeof Strands>('strands').observeStrands(agent, { dispatcher }),
  ),
  '@github/copilot-sdk': eachNew('CopilotClient', (client, { dispatcher }) =>
    adapter<typeof Copilot>('copilot').observeCopilot(client, { dispatcher }),
  ),
  '@google/adk': (exports, to) => {
    const { hookspanPlugin } = adapter<typeof GoogleAdk>('google-adk')
    // One for all: the agents of several runners may be the same.
    const plugin = hookspanPlugin({ dispatcher: to.dispatcher })
    const observe = (runner: object) => {
      const { pluginManager } = runner as AdkRunner
      if (pluginManager.getPlugin(plugin.name) === undefined) pluginManager.registerPlugin(plugin)
    }
    return { ...eachNew('Runner', observe)(exports, to), ...eachNew('InMemoryRunner', observe)(exports, to) }
  },
}

/** Whose peer it is that the package is a part of. */
const PEERS: Readonly<Record<string, string>> = { '@openai/agents-core': '@openai/agents' }

interface AgentParams {
  readonly name?: unknown
  readonly middleware?: readonly { readonly name?: string; readonly wrapToolCall?: unknown }[]
}

interface LangChainAgent {
  withConfig(config: object): LangChainAgent
}

interface AdkRunner {
  readonly pluginManager: {
    getPlugin(name: string): unknown
    registerPlugin(plugin: object): void
  }
}

type ClaudeQuery = (params: { readonly prompt?: unknown; readonly options?: unknown }) => object

/** Of a process that is started before its prompt is known. It is started with the prompt: our hooks are of one run. */
function startupOf(query: ClaudeQuery) {
  return async ({ options }: { readonly options?: unknown } = {}) => ({
    query: (prompt: unknown) => query({ prompt, ...(options !== undefined && { options }) }),
    close() {},
    async [Symbol.asyncDispose]() {},
  })
}

type Sdk = (...args: unknown[]) => unknown

/** Of a process that begins without a session: what it is told later is told to it alone. A program has `query()` where it is refused. */
function sparing(prewarm: Sdk, dispatcher: HookDispatcher): Sdk {
  return async (...args) => {
    notAttached(dispatcher, 'a process of prewarm() is not attached: hookspan knows query() and startup().')
    return prewarm(...args)
  }
}

function observeMcpClient(client: object, { dispatcher, bounds }: Attaching): void {
  mcp().observeMcpClient(client, {
    dispatcher,
    agentName: scriptName(),
    // Asked for at each call.
    get operation() {
      return bounds.current as Operation
    },
  })
}

function observeMcpServer(server: object, { dispatcher }: Attaching): void {
  mcp().observeMcpServer(server, { dispatcher })
}

/** Attaches a package that the program has loaded, or says in one line why not. */
export function attach(
  { name, version, bySdk, byPackage, exports }: Loaded,
  to: Attaching,
): Loaded['exports'] | undefined {
  const listed = PACKAGES[name]
  if (listed?.how === 'refuse') return refused(name, listed, exports, to.dispatcher)
  const known = ATTACH[name]
  if (known === undefined) return undefined
  const sdk = packageOf(name)
  const what = `${sdk} ${version ?? 'of unknown version'}`
  const { isWithin, testedRange } = requireOwn<typeof Peers>('../adapters/peer-range.js')
  const range = testedRange(PEERS[sdk] ?? sdk) ?? ''
  if (version === undefined || !isWithin(version, range)) {
    const why = `${what} is not attached: hookspan knows ${range}.`
    if (!bySdk && !(byPackage && untold(exports, to, why))) notAttached(to.dispatcher, why)
    return undefined
  }
  let given: ReturnType<Attach>
  const isAttached = attached(what, to.dispatcher, () => {
    given = known(exports, to)
  })
  if (isAttached) report(what)
  return given
}
