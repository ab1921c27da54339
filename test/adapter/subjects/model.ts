import type { ContractAgent, ContractReply, ContractRun, ContractTool } from 'hookspan/adapter/contract'
import { type ScriptedFetch, type ScriptedStep, scriptedFetch } from 'hookspan/mock'
import OpenAI from 'openai'

/** The real client, on models that say what the contract tells them to say: the run's own, and that of its sub-agent. */
export function contractClient(run: ContractRun): { client: OpenAI; fetch: ScriptedFetch } {
  const { replies, subAgent } = run
  const left: Record<string, ContractReply[]> = {
    contract: [...replies],
    [subAgent?.name ?? 'none']: [...(subAgent?.replies ?? [])],
  }
  const fetch = scriptedFetch({
    respond: ({ body }) => {
      toldAsked(run, String(body.model), body)
      const next = left[String(body.model)]?.shift()
      return next && stepOf(next, 2)
    },
  })
  return { client: new OpenAI({ apiKey: 'k', fetch, maxRetries: 0 }), fetch }
}

/** A run of which a test sees what its models are asked: those of `contract`, and of the sub-agent. */
export interface SeenRun extends ContractRun {
  readonly asked?: (model: string, request: object) => void
}

export function toldAsked(run: ContractRun, model: string, request: object): void {
  ;(run as SeenRun).asked?.(model, request)
}

/** A sub-agent that has tools, which the contract's has not. */
export interface ExpertAgent extends ContractAgent {
  readonly tools?: readonly ContractTool[]
  /** It is asked in a conversation, where its SDK takes one, in which this was said before. */
  readonly before?: string
}

/** What a sub-agent is asked. */
export function askedOf(
  { subAgent }: ContractRun,
  content: string,
): { role: 'user' | 'assistant'; content: string }[] {
  const { before } = subAgent as ExpertAgent
  const asked = { role: 'user' as const, content }
  if (before === undefined) return [asked]
  return [{ role: 'user', content: before }, { role: 'assistant', content: 'Yes.' }, asked]
}

export const expertTools = ({ subAgent }: ContractRun): readonly ContractTool[] =>
  (subAgent as ExpertAgent | undefined)?.tools ?? []

/** As the reference agent asks for a stream. */
export const STREAMED = { stream: true, stream_options: { include_usage: true } } as const

/** The run's tools in the words of chat completions. */
export function toolsOf({ tools, subAgent }: ContractRun): OpenAI.ChatCompletionTool[] {
  const expert = subAgent && {
    name: subAgent.name,
    description: saysOf(subAgent.name),
    parameters: { type: 'object', properties: { instruction: { type: 'string' } } },
  }
  return [...tools, ...(expert ? [expert] : [])].map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }))
}

/** What is said of a tool that asks an agent: the words of the reference agent. */
export const saysOf = (agent: string) => `Hands a task to the agent "${agent}".`

/** What each model of the contract counts, on each SDK. */
export const USAGE = { inputTokens: 3, outputTokens: 2 }

/** A reply in the words of the scripted server. `halfway`: how many events of its stream come before it is cut. */
export function stepOf({ content, toolCalls, broken }: ContractReply, halfway: number): ScriptedStep {
  return {
    usage: USAGE,
    ...(content !== undefined && { content }),
    ...(toolCalls && { toolCalls: toolCalls.map(({ id, name, args }) => ({ id, name, arguments: args })) }),
    ...(broken && { cutAfterChunks: halfway }),
  }
}
