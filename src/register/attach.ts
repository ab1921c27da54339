import type * as AiSdk from '../adapters/ai-sdk/index.ts'
import type * as Anthropic from '../adapters/anthropic/index.ts'
import type * as ClaudeAgent from '../adapters/claude-agent/index.ts'
import type * as Copilot from '../adapters/copilot/index.ts'
import type { ObserveOptions } from '../adapters/generated-client/options.ts'
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
import { currentModelCall } from '../dispatcher/run/live-calls.ts'
import { packageOf } from './installed.ts'
import { loneWorkflows } from './lone-workflows.ts'
import type { Loaded } from './module-hooks.ts'
import { PACKAGES } from './packages.ts'
import { report } from './report.ts'
import { requireOwn } from './require-own.ts'
import { decidingRunner } from './responses-runner.ts'
import { type RunBounds, scriptName } from './run-bounds.ts'
import { tell } from './tell.ts'
import { attached, notAttached, refused } from './unattached.ts'

export interface Attaching {
  readonly dispatcher: HookDispatcher
  readonly bounds: RunBounds
}

type Attach = (exports: Loaded['exports'], to: Attaching) => Loaded['exports'] | undefined

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
      })
      const agent = createAgent({ ...params, middleware: [ours, ...middleware] }, ...more)
      // Told of an end that comes before the last node, too.
      return agent.withConfig({ callbacks: [hookspanCallbacks({ dispatcher })] })
    },
  }),
  '@google/genai': eachNew('GoogleGenAI', (client, { dispatcher, bounds }) =>
    adapter<typeof GoogleGenAI>('google-genai').observeGoogleGenAI(client, {
      dispatcher,
      operationOf: bounds.operationOf,
      agentName: scriptName(),
    }),
  ),
  '@modelcontextprotocol/sdk/client': eachNew('Client', observeMcpClient),
  '@modelcontextprotocol/sdk/client/index.js': eachNew('Client', observeMcpClient),
  '@modelcontextprotocol/client': eachNew('Client', observeMcpClient),
  '@modelcontextprotocol/sdk/server/mcp.js': eachNew('McpServer', observeMcpServer),
  '@modelcontextprotocol/server': eachNew('McpServer', observeMcpServer),
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
  readonly middleware?: readonly { readonly name?: string }[]
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

type Client = Record<string, (...args: unknown[]) => unknown>

/** The clients of a class, each when it makes its first request: it is then that it is what it will be. */
function eachClient(
  className: string,
  observe: (client: Client, to: Attaching) => unknown,
  seen = new WeakSet<Client>(),
): Attach {
  return eachCalled(className, ['post'], observe, seen)
}

/** The objects of a class, each when one of these methods of it is called for the first time. */
function eachCalled(
  className: string,
  methods: readonly string[],
  observe: (object: Client, to: Attaching) => unknown,
  seen = new WeakSet<Client>(),
): Attach {
  return (exports, to) => {
    const { prototype } = (exports[className] ?? exports.default) as { prototype: Client }
    if (typeof prototype[methods[0] ?? ''] !== 'function') {
      throw new TypeError(`its ${className} has no ${methods[0]}()`)
    }
    for (const method of methods) {
      const own = prototype[method]
      if (typeof own !== 'function') continue
      prototype[method] = function (this: Client, ...args: unknown[]) {
        if (seen.has(this)) return own.apply(this, args)
        const isAttached = attached(`an object of ${className}`, to.dispatcher, () => observe(this, to))
        // One that is refused is refused as often as it is called.
        seen.add(this)
        if (!isAttached) return own.apply(this, args)
        // Where the class itself is observed, not what a class of the user's makes of it once more.
        const observed = Object.hasOwn(this, method) ? this[method] : prototype[method]
        return observed?.apply(this, args)
      }
    }
    return undefined
  }
}

/** The classes of a client's resources, which it has as its own fields. */
interface ClientClass {
  readonly Chat?: { readonly Completions?: Resource }
  readonly Messages?: Resource
  readonly Beta?: {
    readonly Agents?: { readonly Sessions?: Resource }
    readonly Messages?: Resource
    readonly Sessions?: { readonly Events?: Resource }
    readonly Environments?: { readonly Work?: Resource }
  }
}

interface Resource {
  readonly prototype: Runners
}

type Runners = Client & { readonly _client: Client }

/** The client's own resource, of one that somebody has copied: what observes a client is put there. */
type Own = (client: ClientResources) => Client | undefined

interface ClientResources {
  readonly chat?: { readonly completions?: Client }
  readonly messages?: Client
  readonly beta?: {
    readonly agents?: { readonly sessions?: Client }
    readonly messages?: Client
    readonly sessions?: { readonly events?: Client }
    readonly environments?: { readonly work?: Client }
  }
}

/** Likewise; and the runs of tools of a client are seen from the first one on, which is before its first request. */
function eachClientAndRunner(
  className: string,
  runnersOf: (of: ClientClass) => readonly (readonly [of: Resource | undefined, method: string, own: Own])[],
  observe: (client: Client, options: ObserveOptions) => unknown,
): Attach {
  const known = new WeakSet<object>()
  return (exports, to) => {
    const { dispatcher, bounds } = to
    const prototype = ownerOf((exports[className] ?? exports.default) as { prototype: Client }, 'post')
    // Its file has been heard of, and now its package, or the other way round.
    if (known.has(prototype)) return undefined
    const seen = new WeakSet<Client>()
    const options = { dispatcher, operationOf: bounds.operationOf, agentName: scriptName() }
    const observed = (client: Client) => observe(client, options)
    for (const [of, method, ownOf] of runnersOf((exports[className] ?? exports.default) as ClientClass)) {
      const runners: Client | undefined = of?.prototype
      const own = runners?.[method]
      if (runners === undefined || typeof own !== 'function') continue
      runners[method] = function (this: Runners, ...args: unknown[]) {
        const isNew = !seen.has(this._client)
        const isAttached =
          isNew && attached(`an object of ${className}`, dispatcher, () => observed(this._client))
        seen.add(this._client)
        const whole = ownOf(this._client)
        // A copy that somebody made to wrap its calls (LangSmith's `wrapOpenAI()`) has nothing of what observes it.
        const isCopy = whole !== undefined && whole !== this && Object.hasOwn(whole, method)
        if (isCopy) return whole[method]?.(...args)
        return isAttached ? this[method]?.(...args) : own.apply(this, args)
      }
    }
    const { withOptions } = prototype
    if (typeof withOptions === 'function') {
      prototype.withOptions = function (this: Client, ...args: unknown[]) {
        const made = withOptions.apply(this, args) as Client
        // Of one that is observed it is observed, too: once.
        if (seen.has(this) && Object.hasOwn(this, 'withOptions')) seen.add(made)
        return made
      }
    }
    eachClient(className, observed, seen)({ [className]: { prototype } }, to)
    known.add(prototype)
    return undefined
  }
}

/**
 * A client that a package brings may be asked by an agent that is attached, which tells of that itself (LangChain's of
 * Anthropic). Whatever else it is asked is not told.
 *
 * @returns whether there is such a class.
 */
function untold(exports: Loaded['exports'], { dispatcher }: Attaching, why: string): boolean {
  const { OpenAI, Anthropic } = exports as { [className: string]: { prototype: Client } | undefined }
  const owner = ownerOf(OpenAI ?? Anthropic ?? { prototype: {} }, 'post')
  const { post } = owner
  if (typeof post !== 'function') return false
  owner.post = function (this: Client, ...args) {
    if (currentModelCall() === undefined) {
      // What is thrown here many try again, for a minute.
      tell(why)
      notAttached(dispatcher, why)
    }
    return post.apply(this, args)
  }
  return true
}

/** Where a method is that a class has: clients of Bedrock and Vertex have it of the same class as Anthropic's own. */
function ownerOf({ prototype }: { readonly prototype: Client }, method: string): Client {
  for (let owner = prototype; owner !== null; owner = Object.getPrototypeOf(owner)) {
    if (Object.hasOwn(owner, method)) return owner
  }
  return prototype
}

type Class = new (...args: unknown[]) => object

/** The objects of a class, each when it is made. */
function eachNew(className: string, observe: (object: object, to: Attaching) => unknown): Attach {
  return (exports, to) => {
    const own = exports[className] as Class
    const observed = new Proxy(own, {
      construct(target, args, made) {
        const object = Reflect.construct(target, args, made) as object
        attached(`a ${className}`, to.dispatcher, () => observe(object, to))
        return object
      },
    })
    return { [className]: observed }
  }
}
