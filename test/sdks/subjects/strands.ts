import type {
  ContractOutcome,
  ContractReply,
  ContractRun,
  ContractSubject,
  ContractTool,
} from 'hookspan/adapter/contract'
import { STRANDS_CAPABILITIES as capabilities, observeStrands } from 'hookspan/strands'
import { contractClient, expertTools, saysOf } from '../../adapter/subjects/model.ts'
import type { Untyped } from '../support/sdks.ts'

interface Saved {
  readonly snapshot: unknown
  readonly interruptId: string
}

/** The newest, and the oldest that is supported. */
export const strandsSubject = await subjectOn('strands', '@strands-agents/sdk')
export const oldestStrandsSubject = await subjectOn('strands 1.16', 'strands-sdk-1.16')

/** The real package with its own OpenAI model, on our scripted endpoint. */
async function subjectOn(name: string, sdk: string): Promise<ContractSubject> {
  const { Agent, tool }: Untyped = await import(sdk)
  const { OpenAIModel }: Untyped = await import(`${sdk}/models/openai`)
  return {
    name,
    capabilities,
    keepsOneOfSameIds: true,
    waitsForTools: true,
    async run(run) {
      const saved = run.state as Saved | undefined
      const agent = agentOf(run, { Agent, tool, OpenAIModel })
      if (saved !== undefined) agent.loadSnapshot(saved.snapshot)
      const input =
        saved === undefined
          ? run.prompt
          : [{ interruptResponse: { interruptId: saved.interruptId, response: 'go on' } }]
      const options = run.signal && { cancelSignal: run.signal }
      try {
        if (run.stream === undefined) return outcomeOf(agent, await agent.invoke(input, options))
        for await (const event of agent.stream(input, options)) {
          const isText = event.event?.delta?.type === 'textDelta'
          if (isText && run.stream === 'abandon') break
        }
        return { status: 'done', content: textOf(agent.messages.at(-1)) }
      } catch (error) {
        if (run.stream !== undefined) return { status: 'error' }
        throw error
      }
    },
  }
}

function agentOf(run: ContractRun, { Agent, tool, OpenAIModel }: Untyped): Untyped {
  const { client } = contractClient({ ...run, replies: run.replies.map(asking) })
  const model = (modelId: string) => new OpenAIModel({ api: 'responses', modelId, client })
  const given = (of: readonly ContractTool[]) =>
    of.map((one) =>
      tool({
        name: one.name,
        description: one.description,
        inputSchema: one.parameters,
        callback: (args: { q: string }, context: { cancelSignal?: AbortSignal }) =>
          one.execute(args, context.cancelSignal ? { signal: context.cancelSignal } : {}),
      }),
    )
  const tools = given(run.tools)
  const { subAgent, dispatcher, agentName } = run
  if (subAgent !== undefined) {
    const { name } = subAgent
    tools.push(
      new Agent({
        name,
        description: saysOf(name),
        model: model(name),
        tools: given(expertTools(run)),
        printer: false,
      }),
    )
  }
  return observeStrands(new Agent({ name: agentName, model: model('contract'), tools, printer: false }), {
    dispatcher,
  }) as Untyped
}

/** The SDK has its own name for what an agent is told that is a tool. */
function asking(reply: ContractReply): ContractReply {
  const { toolCalls = [] } = reply
  const named = toolCalls.map((call) => {
    const { instruction: input, ...args } = call.args as { instruction?: string }
    return input === undefined ? call : { ...call, args: { ...args, input } }
  })
  return { ...reply, ...(toolCalls.length > 0 && { toolCalls: named }) }
}

function outcomeOf(agent: Untyped, result: Untyped): ContractOutcome {
  if (result.stopReason === 'cancelled') return { status: 'interrupted' }
  if (result.stopReason !== 'interrupt') return { status: 'done', content: textOf(result.lastMessage) }
  const state: Saved = {
    snapshot: agent.takeSnapshot({ preset: 'session' }),
    interruptId: result.interrupts[0].id,
  }
  return { status: 'waiting', state }
}

function textOf(message: Untyped): string {
  return message.content.map((block: { text?: string }) => block.text ?? '').join('')
}
