import { rmSync } from 'node:fs'
import type { HookDispatcher } from 'hookspan'
import { observeClaudeAgent, runWith } from 'hookspan/claude-agent'
import { type ScriptedRequest, type ScriptedStep, startScriptedServer } from 'hookspan/mock'
import { z } from 'zod'
import { inTime } from '../../adapter/random-clients/world.ts'
import { homeOf } from '../subjects/claude-agent.ts'
import type { Untyped } from '../support/sdks.ts'
import type { Kind, Plan, QueryPlan, Turn } from './plan.ts'
import { inWords, type Words } from './words.ts'

const NAME = '@anthropic-ai/claude-agent-sdk'
const sdk: Untyped = await import(NAME)

/** What came of a query: what the caller was shown, what his own functions were asked, and what the model was. */
export interface Seen {
  readonly shown: string[]
  readonly asked: string[]
  readonly bodies: string[]
  readonly told: string[]
  /** How many requests of each model were made, without those of compactions. */
  readonly requests: Record<string, number>
}

/** Has a plan happen, bare, or observed by a dispatcher. */
export async function happen(plan: Plan, dispatcher?: HookDispatcher): Promise<Seen[]> {
  const users = plan.queries.map((one, index) => new User(one, index, dispatcher))
  const all = Promise.all(users.map((user) => user.live()))
  await inTime(
    dispatcher ? 'observed queries' : 'bare queries',
    all,
    () => users.map(({ seen }) => seen),
    30_000,
  )
  return users.map(({ seen }) => seen)
}

/** How a call is asked for. */
function callOf(kind: Kind, id: string) {
  const look = { name: 'mcp__random__look', arguments: { q: `${kind}-${id}` } }
  const shell = (command: string) => ({ name: 'Bash', arguments: { command, description: 'Says it' } })
  const of: Record<Kind, { name: string; arguments: object }> = {
    plain: look,
    slow: look,
    throws: look,
    fails: look,
    shell: shell(`echo said-${id}`),
    broken: shell(`echo broke-${id} && exit 3`),
    unknown: { name: 'mcp__random__nothing', arguments: { q: id } },
    invalid: { name: 'mcp__random__look', arguments: { wrong: id } },
  }
  return { id: `call_${id}`, ...of[kind] }
}

export const agentName = (query: number, prompt: number, turn: number, agent: number) =>
  `expert-${query}-${prompt}-${turn}-${agent}`

/** Whoever makes a query. */
class User {
  readonly seen: Seen = { shown: [], asked: [], bodies: [], told: [], requests: {} }
  readonly #plan: QueryPlan
  readonly #index: number
  readonly #dispatcher: HookDispatcher | undefined
  readonly #words: Words = inWords()
  readonly #controller = new AbortController()
  #query: Untyped
  /** Of the current prompt. */
  #prompt = 0
  #turn = 0
  readonly #turnOf: Record<string, number> = {}
  #compacting = false
  #rootRequests = 0
  #tools = 0
  #messages = 0
  #ended = false
  #next = Promise.withResolvers<void>()
  #over = Promise.withResolvers<void>()

  constructor(plan: QueryPlan, index: number, dispatcher: HookDispatcher | undefined) {
    this.#plan = plan
    this.#index = index
    this.#dispatcher = dispatcher
  }

  async live(): Promise<void> {
    const server = await startScriptedServer({
      respond: (request, { signal }) => this.#respond(request, signal),
    })
    const { home, env } = homeOf()
    this.#words.replace(home, 'HOME')
    try {
      const session = await this.#ask(home, env(server.baseURL), {})
      if (this.#plan.resumed && session !== undefined) {
        this.#prompt = 0
        this.#turn = 0
        await this.#ask(home, env(server.baseURL), { resume: session })
      }
    } finally {
      await server.close()
      rmSync(home, { recursive: true, force: true, maxRetries: 5 })
    }
  }

  async #ask(home: string, env: Untyped, more: object): Promise<string | undefined> {
    this.#next = Promise.withResolvers()
    this.#over = Promise.withResolvers()
    const { partial } = this.#plan
    const query: Untyped =
      this.#dispatcher === undefined
        ? sdk.query
        : observeClaudeAgent(sdk.query, { dispatcher: this.#dispatcher, agentName: `q${this.#index}` })
    const agents = this.#agents()
    const options = {
      env,
      cwd: home,
      model: 'contract',
      settingSources: [],
      includePartialMessages: partial,
      abortController: this.#controller,
      tools: ['Bash', 'Agent'],
      agents,
      mcpServers: { random: this.#server() },
      ...this.#permission(),
      ...this.#hooks(),
      ...more,
    }
    const params = { prompt: this.#isStreamed ? this.#said() : 'Do it.', options }
    let session: string | undefined
    try {
      this.#query = runWith({ conversationId: `q${this.#index}` }, () => query(params))
      for await (const message of this.#query) {
        session = message.session_id ?? session
        this.#show(message)
        if (message.type === 'result') {
          this.#next.resolve()
          this.#next = Promise.withResolvers()
        }
        if (message.type !== 'assistant' || message.parent_tool_use_id !== null) continue
        const { ending } = this.#plan
        if (ending?.when !== 'message' || this.#messages++ !== ending.at) continue
        if (ending.how === 'break') {
          this.#ended = true
          break
        }
        this.#end()
      }
      this.seen.shown.push('over')
    } catch (error) {
      // Which of both depends on whether it was just writing to its process.
      const said = String(error).replace('Operation aborted', 'Claude Code process aborted by user')
      this.seen.shown.push(this.#words.of(`throws ${said}`))
    } finally {
      this.#over.resolve()
      this.#next.resolve()
    }
    return session
  }

  get #isStreamed(): boolean {
    const { streamed, prompts } = this.#plan
    return streamed || prompts.length > 1
  }

  #show(message: Untyped): void {
    if (message.type === 'user') {
      const { type, message: said, parent_tool_use_id } = message
      return void this.seen.shown.push(this.#words.of({ type, said, parent_tool_use_id }))
    }
    if (message.type !== 'result') return void this.seen.shown.push(this.#words.of(message))
    const { type, subtype, is_error, result, num_turns, stop_reason, errors, permission_denials } = message
    const denied = permission_denials?.map(({ tool_use_id }: Untyped) => tool_use_id).sort()
    this.seen.shown.push(
      this.#words.of({ type, subtype, is_error, result, num_turns, stop_reason, errors, denied }),
    )
  }

  async *#said() {
    const { prompts, compacts } = this.#plan
    const say = (content: string) => ({
      type: 'user',
      message: { role: 'user', content },
      parent_tool_use_id: null,
      session_id: '',
    })
    for (const [index] of prompts.entries()) {
      this.#prompt = index
      this.#turn = 0
      const answered = this.#next.promise
      yield say(`Do ${index}.`)
      await answered
      if (!compacts || this.#over === undefined) continue
      const compacted = this.#next.promise
      this.#compacting = true
      yield say('/compact')
      await compacted
      this.#compacting = false
    }
  }

  /** What the model says. */
  async #respond({ body, path }: ScriptedRequest, signal: AbortSignal): Promise<ScriptedStep | undefined> {
    const model = String(body.model)
    if (!path.endsWith('/messages')) return undefined
    if (model !== 'contract' && !model.startsWith('expert')) return undefined
    if (!this.#compacting) this.#note(model, body)
    if (model !== 'contract' || this.#compacting) return this.#stepFor(model)
    const at = this.#rootRequests++
    const { fault, ending } = this.#plan
    if (ending?.when === 'asked' && ending.at === at) {
      this.#end()
      await Promise.race([aborted(signal), this.#over.promise])
      return { content: 'too late' }
    }
    if (fault?.how === 'down' && at >= fault.at)
      return { error: { status: 500, message: 'the model is down' } }
    if (fault?.at !== at) return this.#stepFor(model)
    if (fault.how === 'error') return { error: { status: 400, message: 'the model is unwell' } }
    const turn = this.#turn
    const step = this.#stepFor(model)
    // It is asked again.
    this.#turn = turn
    return { ...step, cutAfterChunks: 3 }
  }

  /** What the model is told, as far as it says what came of its calls. */
  #note(model: string, body: Untyped): void {
    this.seen.requests[model] = (this.seen.requests[model] ?? 0) + 1
    // Results stand in the order in which they came.
    const blocks = body.messages.flatMap(({ role, content }: Untyped) =>
      (Array.isArray(content) ? content : [content]).map((block: unknown) => this.#words.of({ role, block })),
    )
    this.seen.told.push([model, ...blocks.sort()].join('\n'))
  }

  #stepFor(model: string): ScriptedStep {
    const usage = { inputTokens: 3, outputTokens: 2 }
    if (this.#compacting) return { usage, content: '<summary>It was done.</summary>' }
    const isRoot = model === 'contract'
    const at = isRoot ? this.#turn++ : (this.#turnOf[model] ?? 0)
    if (!isRoot) this.#turnOf[model] = at + 1
    const turn = this.#turnsOf(model)[at]
    if (turn === undefined) return { usage, content: `done ${model}` }
    const prefix = isRoot ? `${this.#prompt}-${at}` : `${model}-${at}`
    const calls = turn.calls.map((kind, index) => callOf(kind, `${prefix}-${index}`))
    const agents = turn.agents.map((_, index) => {
      const name = agentName(this.#index, this.#prompt, at, index)
      const args = {
        description: 'Helps',
        prompt: `help ${name}`,
        subagent_type: name,
        run_in_background: this.#plan.background,
      }
      return { id: `call_${name}`, name: 'Agent', arguments: args }
    })
    return { usage, ...(turn.says && { content: `thinking ${prefix}` }), toolCalls: [...calls, ...agents] }
  }

  #turnsOf(model: string): readonly Turn[] {
    const { prompts } = this.#plan
    if (model === 'contract') return prompts[this.#prompt] ?? []
    const [, , prompt, turn, agent] = model.split('-').map(Number)
    return prompts[prompt as number]?.[turn as number]?.agents[agent as number] ?? []
  }

  #agents() {
    const named = this.#plan.prompts.flatMap((turns, prompt) =>
      turns.flatMap(({ agents }, turn) =>
        agents.map((_, agent) => agentName(this.#index, prompt, turn, agent)),
      ),
    )
    return Object.fromEntries(
      named.map((model) => [
        model,
        { description: 'Knows.', prompt: 'You know.', tools: ['Bash', 'mcp__random__look'], model },
      ]),
    )
  }

  #server() {
    const text = (said: string) => ({ content: [{ type: 'text', text: said }] })
    const look = async ({ q }: { q: string }, extra: Untyped) => {
      this.seen.bodies.push(q)
      const { ending } = this.#plan
      if (ending?.when === 'tool' && this.#tools++ === ending.at) {
        this.#end()
        await Promise.race([aborted(extra.signal), this.#over.promise])
        return text('too late')
      }
      if (q.startsWith('slow')) await new Promise((resolve) => setTimeout(resolve, 20))
      if (q.startsWith('throws')) throw new Error(`broken ${q}`)
      return { ...text(`found ${q}`), ...(q.startsWith('fails') && { isError: true }) }
    }
    return sdk.createSdkMcpServer({
      name: 'random',
      tools: [sdk.tool('look', 'Looks something up.', { q: z.string() }, look)],
    })
  }

  #permission() {
    const { permits } = this.#plan
    if (permits === 'none') return { allowedTools: ['mcp__random__look', 'Bash', 'Agent'] }
    const canUseTool = async (name: string, input: Untyped, { toolUseID }: Untyped) => {
      this.seen.asked.push(this.#words.of(`permit ${name} ${toolUseID} ${JSON.stringify(input)}`))
      const isOdd = /-1$/.test(toolUseID)
      if (permits === 'throws' && isOdd) throw new Error('nobody is there')
      if (permits === 'denies' && isOdd) return { behavior: 'deny', message: 'not today' }
      if (permits === 'ends' && isOdd) return { behavior: 'deny', message: 'no more', interrupt: true }
      if (permits === 'edits' && input.q !== undefined)
        return { behavior: 'allow', updatedInput: { q: `${input.q}-edited` } }
      return { behavior: 'allow', updatedInput: input }
    }
    return { canUseTool }
  }

  #hooks() {
    const { hooks } = this.#plan
    if (hooks === 'none') return {}
    const hook = async (input: Untyped) => {
      const { hook_event_name: event, tool_name: name, tool_input: args, tool_use_id: id } = input
      this.seen.asked.push(this.#words.of(`hook ${event} ${name} ${id} ${JSON.stringify(args)}`))
      const isOdd = /-1$/.test(id)
      const output = (more: object) => ({ hookSpecificOutput: { hookEventName: event, ...more } })
      if (hooks === 'tell') return output({ additionalContext: `told of ${id}` })
      if (hooks === 'throw' && isOdd) throw new Error('the hook broke')
      if (event !== 'PreToolUse') return {}
      if (hooks === 'deny' && isOdd)
        return output({ permissionDecision: 'deny', permissionDecisionReason: 'says the user' })
      if (hooks === 'edit' && args.q !== undefined)
        return output({ permissionDecision: 'allow', updatedInput: { q: `${args.q}-hooked` } })
      return {}
    }
    const of = (...names: string[]) => Object.fromEntries(names.map((name) => [name, [{ hooks: [hook] }]]))
    return { hooks: of('PreToolUse', 'PostToolUse', 'PostToolUseFailure') }
  }

  /** Somebody ends it. */
  #end(): void {
    const { ending } = this.#plan
    if (ending === undefined || this.#ended) return
    this.#ended = true
    const { how } = ending
    const note = (what: string) => void this.seen.asked.push(this.#words.of(`${how} ${what}`))
    if (how === 'abort') return this.#controller.abort(new Error('enough'))
    const done =
      how === 'interrupt'
        ? this.#query.interrupt()
        : how === 'close'
          ? this.#query.close()
          : this.#query.return()
    Promise.resolve(done).then(
      (value) => note(`gives ${JSON.stringify(value)}`),
      (error) => note(`throws ${String(error)}`),
    )
  }
}

function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    signal?.addEventListener('abort', () => resolve(), { once: true })
  })
}
