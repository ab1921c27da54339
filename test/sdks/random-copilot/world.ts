import { rmSync } from 'node:fs'
import type { HookDispatcher } from 'hookspan'
import { observeCopilot, runWith } from 'hookspan/copilot'
import { type ScriptedRequest, type ScriptedStep, startScriptedServer } from 'hookspan/mock'
import { inTime } from '../../adapter/random-clients/world.ts'
import { inWords, type Words } from '../random-claude/words.ts'
import { configOf, startClient } from '../subjects/copilot.ts'
import type { Untyped } from '../support/sdks.ts'
import type { Kind, Plan, SessionPlan } from './plan.ts'

/** What came of a session: what the caller was shown, what his own functions were asked, and what the model was. */
export interface Seen {
  readonly shown: string[]
  readonly asked: string[]
  readonly bodies: string[]
  readonly told: string[]
  requests: number
}

/** Has a plan happen, bare, or observed by a dispatcher. */
export async function happen(plan: Plan, dispatcher?: HookDispatcher): Promise<Seen[]> {
  const { client, home, stop } = await startClient()
  if (dispatcher) observeCopilot(client, { dispatcher })
  const users = plan.sessions.map((one, index) => new User(one, index, client, home))
  try {
    const all = Promise.all(users.map((user) => user.live()))
    const what = dispatcher ? 'observed sessions' : 'bare sessions'
    await inTime(what, all, () => users.map(({ seen }) => seen), 40_000)
  } finally {
    await stop().catch(() => {})
    rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  }
  return users.map(({ seen }) => seen)
}

function callOf(kind: Kind, id: string) {
  const look = { name: 'look', arguments: { q: `${kind}-${id}` } }
  const shell = (command: string) => ({
    name: 'bash',
    arguments: { command, description: 'Says it', mode: 'sync' },
  })
  const of: Record<Kind, { name: string; arguments: object }> = {
    plain: look,
    slow: look,
    throws: look,
    fails: look,
    nothing: look,
    shell: shell(`echo said-${id}`),
    broken: shell(`echo broke-${id} && exit 3`),
    unknown: { name: 'never_heard_of', arguments: { q: id } },
  }
  return { id: `call_${id}`, ...of[kind] }
}

/** What is told of the time that something takes, and the like. */
const SHOWN =
  /^(assistant\.(message|turn_start|turn_end)|tool\.execution_(start|complete)|user\.message|session\.(idle|error)|abort|permission\.(requested|completed)|external_tool\.(requested|completed))$/

class User {
  readonly seen: Seen = { shown: [], asked: [], bodies: [], told: [], requests: 0 }
  readonly #plan: SessionPlan
  readonly #index: number
  readonly #client: Untyped
  readonly #words: Words = inWords()
  #session: Untyped
  #turns: ScriptedStep[] = []
  #tools = 0
  #ended = false
  readonly #over = Promise.withResolvers<void>()

  constructor(plan: SessionPlan, index: number, client: Untyped, home: string) {
    this.#plan = plan
    this.#index = index
    this.#client = client
    this.#words.replace(home, 'HOME')
  }

  async live(): Promise<void> {
    const server = await startScriptedServer({
      respond: (request, { signal }) => this.#respond(request, signal),
    })
    const tools = [this.#look()]
    const config = {
      ...configOf(server.baseURL, 'contract', tools),
      availableTools: ['look', 'bash'],
      onPermissionRequest: (request: Untyped) => this.#permit(request),
      hooks: this.#hooks(),
    }
    try {
      this.#session = await this.#client.createSession(config)
      const { sessionId } = this.#session
      await this.#talk()
      if (!this.#plan.resumed) return
      await this.#session.disconnect()
      this.#session = await this.#client.resumeSession(sessionId, config)
      await this.#talk()
      await this.#session.disconnect()
    } catch (error) {
      this.seen.shown.push(this.#words.of(`throws ${String(error)}`))
    } finally {
      this.#over.resolve()
      await server.close()
    }
  }

  async #talk(): Promise<void> {
    const { prompts, way } = this.#plan
    this.#session.on(({ type, data, agentId }: Untyped) => {
      if (!SHOWN.test(type)) return
      const { content, toolName, toolCallId, success, message, toolRequests, result } = data
      const calls = toolRequests?.map(({ toolCallId: id }: Untyped) => id)
      const said = { type, agentId, content, toolName, toolCallId, success, message, calls, result }
      this.seen.shown.push(this.#words.of(said))
    })
    for (const [index, turns] of prompts.entries()) {
      this.#turns = turns.map(({ says, calls }, at) => ({
        ...(says && { content: `thinking ${index}-${at}` }),
        toolCalls: calls.map((kind, call) => callOf(kind, `${index}-${at}-${call}`)),
      }))
      await this.#say(`Do ${index}.`, way)
    }
  }

  async #say(prompt: string, way: 'waits' | 'listens'): Promise<void> {
    const { shown } = this.seen
    const conversation = { userId: `u${this.#index}` }
    try {
      if (way === 'waits') {
        const reply = await runWith(conversation, () => this.#session.sendAndWait(prompt, 20_000))
        shown.push(this.#words.of(`gives ${reply?.data.content}`))
        return
      }
      const idle = Promise.withResolvers<void>()
      const unwatch = this.#session.on(({ type }: Untyped) => {
        if (type === 'session.idle' || type === 'session.error') idle.resolve()
      })
      await runWith(conversation, () => this.#session.send(prompt))
      // A session that was left says nothing any more.
      await Promise.race([idle.promise, this.#over.promise])
      unwatch()
      await this.#idle()
    } catch (error) {
      shown.push(this.#words.of(`throws ${String(error)}`))
      await this.#idle()
    }
  }

  /** It is idle only after its error: who asks before is answered by that. */
  async #idle(): Promise<void> {
    if (this.#plan.fault === undefined) return
    const idle = Promise.withResolvers<void>()
    const unwatch = this.#session.on(({ type }: Untyped) => type === 'session.idle' && idle.resolve())
    const timer = setTimeout(idle.resolve, 300)
    await idle.promise
    clearTimeout(timer)
    unwatch()
  }

  async #respond({ body, path }: ScriptedRequest, signal: AbortSignal): Promise<ScriptedStep | undefined> {
    if (body.model !== 'contract') return undefined
    void path
    const { fault, ending, more } = this.#plan
    const at = this.seen.requests++
    if (at === 0 && more !== 'none') await this.#session.send({ prompt: 'More.', mode: more })
    const told = (body as Untyped).messages.map((message: unknown) => this.#words.of(message)).sort()
    this.seen.told.push(told.join('\n'))
    if (ending?.when === 'asked' && ending.at === at) {
      this.#end()
      await Promise.race([aborted(signal), this.#over.promise])
      return { content: 'too late' }
    }
    const failing = { error: { status: 400, message: 'the model is unwell' } }
    if (fault?.how === 'down' && at >= fault.at) return failing
    if (fault?.at === at && fault.how === 'error') return failing
    const usage = { inputTokens: 3, outputTokens: 2 }
    if (fault?.at === at) return { usage, content: 'broken off', cutAfterChunks: 1 }
    return { usage, ...(this.#turns.shift() ?? { content: 'done' }) }
  }

  #look() {
    const handler = async ({ q }: { q: string }, { signal }: Untyped) => {
      this.seen.bodies.push(q)
      const { ending } = this.#plan
      if (ending?.when === 'tool' && this.#tools++ === ending.at) {
        this.#end()
        await Promise.race([aborted(signal), this.#over.promise])
        return 'too late'
      }
      if (q.startsWith('slow')) await new Promise((resolve) => setTimeout(resolve, 20))
      if (q.startsWith('throws')) throw new Error(`broken ${q}`)
      if (q.startsWith('fails')) return { textResultForLlm: `no ${q}`, resultType: 'failure', error: 'no' }
      return q.startsWith('nothing') ? undefined : `found ${q}`
    }
    const parameters = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] }
    return { name: 'look', description: 'Looks something up.', parameters, handler }
  }

  #permit(request: Untyped) {
    const { kind, toolCallId = '' } = request
    this.seen.asked.push(this.#words.of(`permit ${kind} ${toolCallId}`))
    const { permits } = this.#plan
    const isOdd = /-1$/.test(toolCallId)
    if (permits === 'throws' && isOdd) throw new Error('nobody is there')
    if (permits === 'denies' && isOdd) return { kind: 'reject', feedback: 'not today' }
    return { kind: 'approve-once' }
  }

  #hooks() {
    const { hooks } = this.#plan
    if (hooks === 'none') return undefined
    const note = (name: string, { toolName, toolArgs }: Untyped) =>
      void this.seen.asked.push(this.#words.of(`hook ${name} ${toolName} ${JSON.stringify(toolArgs)}`))
    return {
      onPreToolUse: (input: Untyped) => {
        note('before', input)
        const isOdd = /-1("|$)/.test(JSON.stringify(input.toolArgs))
        if (hooks === 'throw' && isOdd) throw new Error('the hook broke')
        if (hooks === 'deny' && isOdd)
          return { permissionDecision: 'deny', permissionDecisionReason: 'says the user' }
        if (hooks === 'edit' && input.toolArgs.q) return { modifiedArgs: { q: `${input.toolArgs.q}-hooked` } }
        return hooks === 'tell' ? { additionalContext: 'told before' } : undefined
      },
      onPostToolUse: (input: Untyped) => {
        note('after', input)
        if (hooks === 'edit') {
          const textResultForLlm = `edited ${input.toolResult.textResultForLlm}`
          return { modifiedResult: { ...input.toolResult, textResultForLlm } }
        }
        return hooks === 'tell' ? { additionalContext: 'told after' } : undefined
      },
      onPostToolUseFailure: (input: Untyped) => void note('failed', input),
    }
  }

  /** Somebody ends it. */
  #end(): void {
    const { ending } = this.#plan
    if (ending === undefined || this.#ended) return
    this.#ended = true
    const { how } = ending
    const note = (what: string) => void this.seen.asked.push(this.#words.of(`${how} ${what}`))
    const left = how !== 'abort'
    const done =
      how === 'abort'
        ? this.#session.abort()
        : how === 'disconnect'
          ? this.#session.disconnect()
          : this.#client.forceStop()
    Promise.resolve(done)
      .then(
        () => note('done'),
        (error: unknown) => note(`throws ${String(error)}`),
      )
      .finally(() => left && this.#over.resolve())
  }
}

function aborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    signal?.addEventListener('abort', () => resolve(), { once: true })
  })
}
