import { setImmediate } from 'node:timers/promises'
import {
  type HookDispatcher,
  type Operation,
  type OperationInit,
  type ParentOperation,
  ToolResult,
} from 'hookspan'
import { currentCalls, type HumanAnswer } from 'hookspan/adapter'
import {
  type ApprovalRequest,
  type Approver,
  deny,
  type Gate,
  mutate,
  requireApproval,
  skip,
} from 'hookspan/gates'
import type {
  AgentPlan,
  CallPlan,
  GatePlan,
  HumanPlan,
  LlmPlan,
  RunPlan,
  StepPlan,
  ToolPlan,
} from './plans.ts'

type Calls = NonNullable<ReturnType<typeof currentCalls>>

/** Whoever waits for ever ends with its signal. */
const hang = (signal: AbortSignal | undefined) =>
  new Promise<never>((_resolve, reject) =>
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true }),
  )

/** Does what a plan says, by public names, as a runtime would. Ends only what the plan ends. */
export class Driver {
  readonly #dispatcher: HookDispatcher
  readonly #controller = new AbortController()
  readonly #running: Promise<unknown>[] = []

  constructor(dispatcher: HookDispatcher) {
    this.#dispatcher = dispatcher
    dispatcher.use({
      name: 'doubles',
      gates: [{ id: 'left out', point: 'beforeToolCall', decide: () => undefined }],
      hooks: [
        {
          id: 'mock',
          type: 'beforeToolCall',
          match: 'mocked',
          handler: (event) => event.mock({ content: 'mocked', data: { was: 'mocked' } }),
        },
      ],
      standIn: ({ apiName }) => {
        if (apiName === 'replaced') return { source: 'replay', rule: 'call 3', mock: { content: 'replayed' } }
        if (apiName === 'broken mock') return { source: 'mock', mock: { error: 'sold out' } }
        return undefined
      },
    })
  }

  /** Until everything is over, what its caller did not wait for, too. */
  async finish(plan: RunPlan): Promise<void> {
    await this.run(plan)
    await this.#dispatcher.shutdown({ timeoutMs: 5_000 })
    this.#controller.abort()
    for (const running of this.#running) await running.catch(() => {})
  }

  run(plan: RunPlan, parent?: ParentOperation): Promise<Operation> {
    const running = this.#run(plan, parent)
    this.#running.push(running)
    return running
  }

  async #run(plan: RunPlan, parent?: ParentOperation): Promise<Operation> {
    const init: OperationInit = {
      ...pickDefined(plan, ['agentName', 'agentId', 'userId', 'conversationId', 'input', 'instructions']),
      ...(plan.attributes && { attributes: { ...plan.attributes } }),
      gates: plan.gates.map(gateOf),
      approver,
      signal: this.#controller.signal,
      ...(parent ? { parent } : plan.disables && { disable: ['left out'] }),
    }
    let op = this.#dispatcher.startOperation(init)
    for (const step of plan.steps) {
      await this.#step(op, step).catch(() => {})
      if (step.parks && parent === undefined && !op.ended) {
        const saved = JSON.stringify(op.park({ waitingFor: 'human' }))
        // Nobody goes on in the same turn.
        await setImmediate()
        op = this.#dispatcher.startOperation({ ...init, resume: JSON.parse(saved) })
      }
    }
    await this.#end(op, plan)
    return op
  }

  async #step(op: Operation, plan: StepPlan): Promise<void> {
    await op.step(
      async (step) => {
        if (plan.aborts) this.#controller.abort(new DOMException('enough', 'AbortError'))
        await this.#calls(op, step, plan.calls, plan.parallel)
        if (plan.end === 'throw') throw new RangeError('the step broke')
      },
      pickDefined(plan, ['stepType']),
    )
  }

  async #calls(op: Operation, calls: Calls, plans: readonly CallPlan[], parallel: boolean): Promise<void> {
    // What is called once the run is over is refused: no event tells of it.
    const make = (plan: CallPlan) => (op.ended ? undefined : this.#call(op, calls, plan).catch(() => {}))
    if (parallel) await Promise.all(plans.map(make))
    else for (const plan of plans) await make(plan)
  }

  async #call(op: Operation, calls: Calls, plan: CallPlan): Promise<unknown> {
    switch (plan.kind) {
      case 'tool':
        return this.#tool(op, calls, plan)
      case 'llm':
        return this.#llm(calls, plan)
      case 'agent':
        return this.#agent(calls, plan)
      case 'compact':
        return calls.compact({ messageCount: 9, tokenCount: 900 }, () => {
          if (plan.body === 'throw') throw new Error('too long')
          if (plan.body === 'empty') return {}
          return { messagesAfter: 2, tokensAfter: 90, summary: 'shorter', groupId: 'g1' }
        })
      case 'human':
        return askedDirectly(calls, plan)
    }
  }

  #tool(op: Operation, calls: Calls, plan: ToolPlan): Promise<unknown> {
    const { name: apiName, args, source, toolCallId, description } = plan
    const init = {
      apiName,
      args,
      source,
      identifier: source,
      ...pickDefined({ toolCallId, description }, ['toolCallId', 'description']),
    }
    return calls.toolCall(init, async (_args, { signal }) => {
      const within = currentCalls()
      if (within !== undefined) await this.#calls(op, within, plan.inner, false)
      switch (plan.body) {
        case 'return':
          return plan.result
        case 'throw':
          throw Object.assign(new Error('no seat'), { code: 'SOLD_OUT' })
        case 'throw nothing':
          throw undefined
        case 'report failure':
          return new ToolResult({ content: 'did not work', success: false, data: plan.result })
        case 'say failure':
          return { isError: true, content: [{ type: 'text', text: 'no' }] }
        case 'hang':
          void setImmediate().then(() => this.#controller.abort())
          return hang(signal)
        case 'stop the run':
          this.#controller.abort(new TypeError('stopped'))
          return 'too late'
      }
    })
  }

  async #llm(calls: Calls, plan: LlmPlan): Promise<void> {
    const server = plan.server ? { serverAddress: 'api.example', serverPort: 8443 } : {}
    const init = {
      model: 'gpt-4o',
      request: { ...plan.request },
      ...server,
      ...(plan.operationName && { operationName: plan.operationName }),
      standIn: ({ content = '' }) => chat(content, plan.usage),
    }
    const reply: unknown = await calls.llmCall<unknown>(init as never, () => replyOf(plan))
    if (typeof reply !== 'object' || reply === null || !(Symbol.asyncIterator in reply)) return
    if (plan.reply === 'never read') return
    for await (const _chunk of reply as AsyncIterable<unknown>) if (plan.reply === 'abandoned') break
  }

  #agent(calls: Calls, plan: AgentPlan): Promise<unknown> {
    const remote = plan.body.endsWith('remotely')
    const named = { ...(plan.name && { agentName: plan.name }), ...(plan.id && { agentId: plan.id }) }
    return calls.callAgent({ ...named, instruction: 'look it up', remote }, async (parent, { signal }) => {
      switch (plan.body) {
        case 'throw':
          throw new Error('cannot be reached')
        case 'hang':
          void setImmediate().then(() => this.#controller.abort())
          return hang(signal)
        case 'answer':
          return 'an answer'
        case 'answer remotely':
          return { content: 'from afar', usage: { inputTokens: 5, outputTokens: 6 }, threadId: 't1' }
        case 'fail':
        case 'fail remotely':
          return { status: 'error', reason: 'error', content: 'half', error: new RangeError('out of range') }
        case 'give up remotely':
          return { reason: 'denied', denial: { code: 'too_much', reason: 'enough' }, costUsd: 0.5 }
        case 'run':
        case 'run remotely': {
          // What another process gets is JSON.
          const given = remote ? JSON.parse(JSON.stringify(parent)) : parent
          const child = await this.run(plan.child, given)
          return { operationId: child.operationId, content: 'found', reason: 'done' }
        }
      }
    })
  }

  async #end(op: Operation, { end }: RunPlan): Promise<void> {
    switch (end) {
      case 'complete':
        return void (await op.complete())
      case 'last word':
        return void (await op.complete({ content: 'bye' }))
      case 'max_steps':
        return void (await op.complete({ reason: 'max_steps' }))
      case 'error without a cause':
        return void (await op.complete({ reason: 'error' }))
      case 'fail':
        return op.fail(Object.assign(new Error('out of luck'), { status: 503 }))
      case 'interrupt':
        return op.interrupt()
      case 'leave open':
    }
  }
}

async function askedDirectly(calls: Calls, { answer }: HumanPlan): Promise<void> {
  const pendingTools = [{ identifier: 'local', apiName: 'pay', args: { eur: 5 }, toolCallId: 'pay-1' }]
  const human = calls.openHumanIntervention({ pendingTools, instructions: 'May it pay?' })
  const answers: Record<HumanPlan['answer'], HumanAnswer | undefined> = {
    approve: { action: 'approve', approver: 'kim', channel: 'slack', identity: 'proved' },
    edit: { action: 'edit' },
    reject: { action: 'reject', reason: 'too dear', code: 'rejected', stop: true },
    timeout: { action: 'timeout', code: 'approval_timeout' },
    error: { action: 'rejectAndContinue', error: new TypeError('nobody home') },
    none: undefined,
  }
  const given = answers[answer]
  if (given !== undefined) human.answered(given)
}

function gateOf(plan: GatePlan, index: number): Gate {
  const { point, runtime, shadow, open } = plan
  return {
    id: `${index}-${plan.human}`,
    point,
    runtime,
    shadow,
    timeoutMs: plan.decision === 'hang' ? 1 : 5_000,
    onFailure: open ? 'proceed' : 'deny',
    decide(ctx) {
      switch (plan.decision) {
        case 'proceed':
          return undefined
        case 'mutate':
          return mutate(changed(point, ctx.payload))
        case 'skip':
          return skip({ content: 'from a gate' })
        case 'deny':
          return deny('not today', { code: 'quiet_hours' })
        case 'stop':
          return deny('enough', { stop: true })
        case 'ask':
          return requireApproval({
            instructions: 'really?',
            ...(plan.human === 'timeout' && { timeoutMs: 2 }),
          })
        case 'throw':
          throw new Error('the gate broke')
        case 'nonsense':
          return { decision: 'maybe' } as never
        case 'hang':
          return new Promise(() => {})
      }
    },
  }
}

function changed(point: GatePlan['point'], payload: unknown): unknown {
  if (point === 'beforeCallAgent') return 'look twice'
  if (point === 'beforeLlmCall') {
    return { ...(payload as object), temperature: 1, messages: [{ role: 'user', content: 'changed' }] }
  }
  if (point === 'afterLlmCall') return { content: 'changed' }
  if (point === 'beforeComplete') return { content: 'changed' }
  return { changed: payload }
}

/** A gate's id says how the human answers it. */
const approver: Approver = {
  requestApproval: (request: ApprovalRequest, { signal }) => {
    switch (request.gateId.slice(2) as GatePlan['human']) {
      case 'approve':
        return Promise.resolve({ decision: 'approve', approver: 'kim', channel: 'page', identity: 'claimed' })
      case 'edit':
        return Promise.resolve({ decision: 'edit', args: changed(request.point, request.args) })
      case 'reject':
        return Promise.resolve({ decision: 'reject', reason: 'no', approver: 'kim' })
      case 'reject and stop':
        return Promise.resolve({ decision: 'reject', reason: 'no!', stop: true })
      case 'timeout':
        return hang(signal)
      case 'error':
        return Promise.reject(new TypeError('nobody home'))
      case 'wrong':
        return Promise.resolve({ decision: 'approve', argsDigest: 'of something else' })
    }
  },
}

/** By this header of a response a model's reply is known as scripted. */
const SCRIPTED = { 'x-hookspan-scripted': 'true' }

function replyOf({ reply, usage }: LlmPlan): unknown {
  switch (reply) {
    case 'chat':
      return chat('hello', usage)
    case 'responses':
      return {
        id: 'resp_1',
        object: 'response',
        model: 'gpt-4o',
        status: 'completed',
        output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hello' }] }],
        ...(usage && { usage: { input_tokens: 3, output_tokens: 2 } }),
      }
    case 'messages':
      return {
        id: 'msg_1',
        type: 'message',
        model: 'claude-x',
        content: [{ type: 'text', text: 'hello' }],
        stop_reason: 'end_turn',
        ...(usage && {
          usage: {
            input_tokens: 3,
            output_tokens: 2,
            cache_creation_input_tokens: 4,
            cache_creation: { ephemeral_1h_input_tokens: 4 },
          },
        }),
      }
    case 'provider ran':
      return {
        id: 'resp_2',
        object: 'response',
        conversation: { id: 'conv_1' },
        output: [
          {
            type: 'web_search_call',
            id: 'ws_1',
            status: 'completed',
            action: { type: 'search', query: 'q' },
          },
          {
            type: 'mcp_call',
            id: 'mcp_1',
            server_label: 'wiki',
            name: 'ask',
            arguments: '{}',
            error: 'down',
          },
          { type: 'compaction', id: 'c_1', encrypted_content: 'x' },
          { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'found' }] },
        ],
      }
    case 'odd':
      return { what: 'is this' }
    case 'scripted':
      return Object.assign(Promise.resolve(chat('scripted', usage)), {
        asResponse: async () => new Response('', { headers: SCRIPTED }),
      })
    case 'throw':
      throw Object.assign(new Error('slow down'), { status: 429 })
    case 'scripted failure':
      throw Object.assign(new Error('as scripted'), { status: 500, headers: new Headers(SCRIPTED) })
    case 'read':
    case 'abandoned':
    case 'failed':
    case 'never read':
      return chunks(reply === 'failed', usage)
  }
}

function chat(content: string, usage: boolean): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model: 'gpt-4o-2024-08-06',
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
    ...(usage && { usage: { prompt_tokens: 7, completion_tokens: 3 } }),
  }
}

async function* chunks(fails: boolean, usage: boolean) {
  const base = { id: 'chatcmpl-2', object: 'chat.completion.chunk', model: 'gpt-4o-2024-08-06' }
  yield { ...base, choices: [{ index: 0, delta: { role: 'assistant', content: 'Hel' } }] }
  if (fails) throw new Error('connection reset')
  yield { ...base, choices: [{ index: 0, delta: { content: 'lo' }, finish_reason: 'stop' }] }
  if (usage) yield { ...base, choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } }
}

function pickDefined<T extends object, K extends keyof T>(from: T, keys: readonly K[]): Partial<Pick<T, K>> {
  const entries = keys.filter((key) => from[key] !== undefined).map((key) => [key, from[key]])
  return Object.fromEntries(entries) as Partial<Pick<T, K>>
}
