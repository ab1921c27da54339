import type { HookDispatcher } from '../../dispatcher/index.ts'
import { asName } from '../../wire/reading.ts'
import type { ReachedLimit } from '../sdk-run/loop-limits.ts'
import { rememberRun } from '../sdk-run/parked-run.ts'
import { ClaudeRun } from './claude-run.ts'
import { Compactions } from './compaction.ts'
import { withHooks } from './hooks.ts'
import { withPermission } from './permission.ts'
import type { ClaudeOptions, Message, Query, QueryFunction, QueryParams } from './sdk.ts'
import { watchServers } from './servers.ts'
import { assertAsking, withoutUnasked } from './skills.ts'
import { SubAgents } from './sub-agents.ts'
import { telemetryOf } from './telemetry.ts'

interface Host {
  readonly dispatcher: HookDispatcher
  readonly agentName: string
  readonly sdkSpans: 'omit' | 'nest'
}

/** Made for a query that is observed. */
const observedOptions = new WeakSet<object>()

/** What Claude Code says of a prompt at its limit, before it throws. */
const LIMITS: Readonly<Record<string, ReachedLimit>> = {
  error_max_turns: 'max_steps',
  error_max_budget_usd: 'cost_limit',
}

/** One query. It begins at once; its methods wait until it has, as the gates on its prompt come before. */
export function observedQuery(query: QueryFunction, params: QueryParams, host: Host): Query {
  // What observes it from outside is asked about it already.
  if (params.options !== undefined && observedOptions.has(params.options)) return query(params)
  const messages = new ObservedMessages(query, params, host)
  const own: Readonly<Record<PropertyKey, unknown>> = {
    next: () => messages.next(),
    return: () => messages.leave(),
    throw: (error: unknown) => messages.leave(error),
    [Symbol.asyncIterator]: () => result,
    [Symbol.asyncDispose]: async () => void (await messages.leave()),
  }
  const result = new Proxy({} as Query, {
    get(_shell, key) {
      if (Object.hasOwn(own, key)) return own[key]
      // It is no promise.
      if (key === 'then' || typeof key === 'symbol') return undefined
      return async (...args: unknown[]) => {
        if (key === 'interrupt' || key === 'close') messages.interrupted()
        const inner = (await messages.started) as unknown as Record<string, (...args: unknown[]) => unknown>
        return inner[key]?.(...args)
      }
    },
  })
  rememberRun(result, messages.run.parked)
  return result
}

class ObservedMessages {
  readonly #claude: ClaudeRun
  readonly #subAgents: SubAgents
  readonly #compactions: Compactions
  readonly #params: QueryParams
  readonly #unwatch: () => void
  readonly started: Promise<Query>
  readonly #queue: Message[] = []
  #more = Promise.withResolvers<void>()
  #isLeft = false
  #over: { readonly error?: unknown } | undefined
  #reading: Promise<void>
  /** Ends the prompt of a run that goes on, which says nothing. */
  readonly #answered = Promise.withResolvers<void>()
  #content: string | undefined
  /** There is a result of its last prompt. */
  #isAnswered = false

  constructor(query: QueryFunction, params: QueryParams, { dispatcher, agentName, sdkSpans }: Host) {
    this.#params = params
    this.#claude = new ClaudeRun(dispatcher, agentName, params)
    this.#subAgents = new SubAgents(this.#claude)
    this.#compactions = new Compactions(this.#claude.root)
    this.#unwatch = watchServers(params.options?.mcpServers)
    this.started = this.#start(query, sdkSpans)
    this.#reading = this.#read()
  }

  get run() {
    return this.#claude.run
  }

  interrupted(): void {
    this.#claude.isInterrupted = !this.#isAnswered
  }

  async #start(query: QueryFunction, sdkSpans: Host['sdkSpans']): Promise<Query> {
    const input = await this.run.admit()
    const { prompt, options = {} } = this.#params
    const claude = this.#claude
    const canUseTool = withPermission(claude, this.#subAgents, options.canUseTool)
    const observed: ClaudeOptions = {
      ...options,
      ...telemetryOf(options.env, sdkSpans, this.run.traceparent),
      ...withoutUnasked(claude, options),
      hooks: withHooks(claude, this.#subAgents, options.hooks),
      forwardSubagentText: true,
      includePartialMessages: true,
      ...(canUseTool && { canUseTool }),
    } as ClaudeOptions
    observedOptions.add(observed)
    const asked = input !== this.run.input ? input : prompt
    const given = this.run.resumed === undefined ? asked : asked || this.#goingOn()
    return claude.within(() => query({ prompt: given, options: observed }))
  }

  /**
   * What a run is asked that goes on: nothing, and Claude Code is told so by an input that stays open, or it refuses the call
   * that waits. It looks for the tool before it knows the servers of this process, and looks again when it is asked something.
   */
  #goingOn(): AsyncIterable<object> {
    const { waiting = [] } = this.run.resumed ?? {}
    const served = waiting.some(({ identifier }) => this.#claude.servers.has(identifier ?? ''))
    const message = { role: 'user', content: 'Go on.' }
    const said = served ? [{ type: 'user', message, parent_tool_use_id: null, session_id: '' }] : []
    const next = async () => {
      const value = said.shift()
      if (value !== undefined) return { done: false as const, value }
      await this.#answered.promise
      return { done: true as const, value: undefined }
    }
    return { [Symbol.asyncIterator]: () => ({ next }) }
  }

  async #read(): Promise<void> {
    try {
      const inner = await this.started
      for await (const message of inner) {
        this.#assertGuarded(inner, message)
        await this.#tell(message).catch(() => {})
        if (!this.#isLeft && this.#isForUser(message)) {
          this.#queue.push(message)
          this.#wake()
        }
      }
      await this.#end()
      this.#over ??= {}
    } catch (error) {
      this.#over ??= { error: await this.#fail(error) }
    } finally {
      this.#unwatch()
      this.#wake()
    }
  }

  #assertGuarded(inner: Query, message: Message): void {
    try {
      if (isInit(message)) assertAsking(this.#claude, asName(message.claude_code_version))
      if (isAsking(message)) this.#claude.assertGuarded()
    } catch (error) {
      // It goes on with its turn where its input alone ends.
      const { interrupt, close } = inner as Partial<Closable>
      interrupt?.call(inner).catch(() => {})
      close?.call(inner)
      throw error
    }
  }

  #wake(): void {
    this.#more.resolve()
    this.#more = Promise.withResolvers()
  }

  /** The pieces of messages, and what agents say, are ours, where nobody has asked for them. */
  #isForUser(message: Message): boolean {
    if (isTooEarly(message) && this.run.resumed !== undefined) return false
    const { includePartialMessages, forwardSubagentText } = this.#params.options ?? {}
    if (!forwardSubagentText && this.#subAgents.isAside(message)) return false
    if (includePartialMessages) return true
    const { type, status } = message
    return type !== 'stream_event' && !(type === 'system' && status === 'requesting')
  }

  async #tell(message: Message): Promise<void> {
    const { type, subtype } = message
    const { root } = this.#claude
    await this.#subAgents.told(message)
    await this.#compactions.told(message)
    if (isInit(message)) {
      this.#isAnswered = false
      this.#claude.isInterrupted = false
      root.model = asName(message.model)
      this.#claude.has(message)
    } else if (type === 'system' && message.status === 'requesting') await root.asking()
    else if (type === 'result' && !isTooEarly(message)) {
      // The prompt was interrupted: the next one is asked anew.
      await root.over()
      this.#isAnswered = true
      if (subtype === 'success') this.#claude.isInterrupted = false
      this.#content = asName(message.result) ?? this.#content
      this.#answered.resolve()
      this.run.limit = LIMITS[String(subtype)]
      if (message.stop_reason === 'tool_deferred') this.run.waitingFor = 'human'
    } else await this.#subAgents.of(message).told(message)
  }

  /** By its user. What a gate has ended is ended by that. */
  get #isCut(): boolean {
    return this.#claude.isInterrupted && !this.run.isStopped
  }

  async #end(): Promise<void> {
    this.#answered.resolve()
    this.#compactions.over()
    await this.#subAgents.over()
    await this.#claude.root.over()
    if (this.run.isPart) return
    if (this.#isCut) return this.run.interrupt()
    const refusal = await this.run.end(this.#content)
    if (refusal !== undefined) throw refusal
  }

  async #fail(error: unknown): Promise<unknown> {
    this.#answered.resolve()
    this.#compactions.over(error)
    await this.#subAgents.over().catch(() => {})
    await this.#claude.root.over(error).catch(() => {})
    if (this.#isCut) await this.run.interrupt()
    else if (this.run.limit === undefined) await this.run.fail(error)
    else await this.run.end(this.#content)
    return error
  }

  async next(): Promise<IteratorResult<Message, void>> {
    for (;;) {
      const value = this.#queue.shift()
      if (value !== undefined) return { done: false, value }
      if (this.#over !== undefined) {
        const { error } = this.#over
        this.#over = {}
        if (error !== undefined) throw error
        return { done: true, value: undefined }
      }
      await this.#more.promise
    }
  }

  /** Nobody reads any more: Claude Code is ended. */
  async leave(error?: unknown): Promise<IteratorResult<Message, void>> {
    this.#isLeft = true
    this.#queue.length = 0
    const inner = await this.started.catch(() => undefined)
    await inner?.return?.()
    await this.#reading
    if (error !== undefined) throw error
    return { done: true, value: undefined }
  }
}

interface Closable {
  interrupt(): Promise<unknown>
  close(): void
}

function isInit({ type, subtype }: Message): boolean {
  return type === 'system' && subtype === 'init'
}

/** Its model is asked next, or that of an agent. */
function isAsking({ type, subtype, status }: Message): boolean {
  return type === 'system' && (status === 'requesting' || subtype === 'task_started')
}

/** The tool of the call that waits is not known yet. */
function isTooEarly({ type, stop_reason }: Message): boolean {
  return type === 'result' && stop_reason === 'tool_deferred_unavailable'
}
