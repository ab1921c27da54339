import type { Operation, OperationInit, ParkedOperation } from 'hookspan'
import type { OpenStep } from 'hookspan/adapter'
import type { ContractOutcome, ContractRun, ContractSubject, ContractTool } from 'hookspan/adapter/contract'
import { observeOpenAI } from 'hookspan/openai'
import type OpenAI from 'openai'
import { ALL_CAPABILITIES } from './exec-agent.ts'
import { contractClient, expertTools, STREAMED, saysOf, toolsOf } from './model.ts'

type Message = OpenAI.ChatCompletionMessageParam
type Reply = OpenAI.ChatCompletionMessage

interface Saved {
  readonly operation: ParkedOperation
  readonly messages: Message[]
}

const capabilities = { ...ALL_CAPABILITIES, compaction: false }

/** A loop of one's own on the observed `openai` client, which tells its run in pieces, as adapters of SDKs do. */
export const ownLoopSubject: ContractSubject = {
  name: 'observeOpenAI',
  capabilities,
  run: (run) => {
    const saved = run.state as Saved | undefined
    const messages: Message[] = saved?.messages ?? [{ role: 'user', content: run.prompt }]
    const { client } = contractClient(run)
    const op = start(run, run.agentName, { input: messages, ...(saved && { resume: saved.operation }) })
    return new Loop(
      run,
      observeOpenAI(client, { dispatcher: run.dispatcher }),
      op,
      'contract',
      messages,
    ).run()
  },
}

function start({ dispatcher, signal }: ContractRun, agentName: string, more: OperationInit): Operation {
  const adapter = { name: 'own-loop', capabilities }
  return dispatcher.startOperation({ agentName, adapter, ...(signal && { signal }), ...more })
}

class Loop {
  readonly #run: ContractRun
  readonly #client: OpenAI
  readonly #op: Operation
  readonly #model: string
  readonly #messages: Message[]

  constructor(run: ContractRun, client: OpenAI, op: Operation, model: string, messages: Message[]) {
    this.#run = run
    this.#client = client
    this.#op = op
    this.#model = model
    this.#messages = messages
  }

  async run(): Promise<ContractOutcome> {
    try {
      this.#messages.splice(0, this.#messages.length, ...((await this.#op.admit()) as Message[]))
      for (;;) {
        const step = await this.#op.openStep()
        const last = await this.#turn(step).catch((error: unknown) => {
          step.fail(error)
          throw error
        })
        await step.end()
        if (last === 'waiting') {
          const operation = this.#op.park({ waitingFor: 'human' })
          return { status: 'waiting', state: { operation, messages: this.#messages } satisfies Saved }
        }
        this.#op.signal?.throwIfAborted()
        if (last !== undefined) {
          const { reason, content = '' } = await this.#op.complete({ content: last })
          return reason === 'done' ? { status: 'done', content } : { status: 'error' }
        }
      }
    } catch (error) {
      if (this.#op.signal?.aborted) await this.#op.complete({ reason: 'interrupted' })
      else await this.#op.fail(error)
      if ((error as { code?: string }).code === 'STATE_CLAIMED') throw error
      return { status: this.#run.signal?.aborted ? 'interrupted' : 'error' }
    }
  }

  /** Gives the last word, if this was it. */
  async #turn(step: OpenStep): Promise<string | 'waiting' | undefined> {
    const asked = this.#messages.at(-1)
    const reply = asked?.role === 'assistant' ? (asked as Reply) : await step.run(() => this.#ask())
    if (reply !== asked) this.#messages.push(reply)
    if (!reply.tool_calls?.length) return reply.content ?? ''
    const told = await Promise.all(reply.tool_calls.map((call) => this.#call(step, call)))
    if (told.includes(undefined)) return 'waiting'
    this.#messages.push(...(told as Message[]))
    return undefined
  }

  async #ask(): Promise<Reply> {
    const { stream } = this.#run
    const tools = this.#tools()
    const body = { model: this.#model, messages: this.#messages, ...(tools.length > 0 && { tools }) }
    if (stream === undefined) {
      const reply = await this.#client.chat.completions.create(body)
      return reply.choices[0]?.message as Reply
    }
    let content = ''
    const calls: OpenAI.ChatCompletionMessageFunctionToolCall[] = []
    for await (const chunk of await this.#client.chat.completions.create({ ...body, ...STREAMED })) {
      const { content: said, tool_calls = [] } = chunk.choices[0]?.delta ?? {}
      content += said ?? ''
      for (const { index, id = '', function: { name = '', arguments: args = '' } = {} } of tool_calls) {
        calls[index] ??= { id, type: 'function', function: { name, arguments: '' } }
        calls[index].function.arguments += args
      }
      if (stream === 'abandon') break
    }
    return { role: 'assistant', content, refusal: null, ...(calls.length > 0 && { tool_calls: calls }) }
  }

  #tools(): OpenAI.ChatCompletionTool[] {
    if (this.#model === 'contract') return toolsOf(this.#run)
    const { subAgent: _, ...run } = this.#run
    return toolsOf({ ...run, tools: expertTools(this.#run) })
  }

  /** What the model is told; undefined while the call waits. */
  async #call(step: OpenStep, call: OpenAI.ChatCompletionMessageToolCall): Promise<Message | undefined> {
    if (call.type !== 'function') throw new Error(`no such tool: ${call.type}`)
    const { name } = call.function
    const args = JSON.parse(call.function.arguments)
    const tool = [...this.#run.tools, ...expertTools(this.#run)].find((one) => one.name === name)
    const description = tool?.description ?? saysOf(name)
    const open = step.openToolCall<never>({
      toolCallId: call.id,
      apiName: name,
      description,
      args: args as never,
    })
    const decided = await open.decided
    if (decided.state === 'waiting') return undefined
    const body = tool ? (given: never) => this.#execute(tool, given) : () => this.#delegate(name, args)
    const outcome = decided.state === 'run' ? await open.run(body) : decided
    return outcome.toToolMessage()
  }

  #execute(tool: ContractTool, args: { q: string }): Promise<string> {
    return tool.execute(args, this.#op.signal ? { signal: this.#op.signal } : {})
  }

  /** The agent is called inside the tool: its call lies under the tool's span. */
  async #delegate(name: string, { instruction }: { instruction: string }): Promise<string> {
    const { currentCalls } = await import('hookspan/adapter')
    const call = currentCalls()?.openAgentCall<ContractOutcome>({ agentName: name, instruction })
    const outcome = await call?.run(({ parent, instruction: asked }) => {
      const messages: Message[] = [{ role: 'user', content: asked }]
      const op = start(this.#run, name, { parent, input: messages })
      return new Loop(this.#run, this.#client, op, name, messages).run()
    })
    if (outcome?.status === 'error') throw new Error('The agent has no answer.')
    // A gate may have answered, with a text or as the agent does.
    return typeof outcome === 'string' ? outcome : (outcome?.content ?? '')
  }
}
