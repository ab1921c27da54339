import type { ContractReply, ContractRun } from 'hookspan/adapter/contract'
import { type ScriptedFetch, type ScriptedStep, scriptedFetch } from 'hookspan/mock'
import OpenAI from 'openai'

/** The real client, on models that say what the contract tells them to say: the run's own, and that of its sub-agent. */
export function contractClient({ replies, subAgent }: ContractRun): { client: OpenAI; fetch: ScriptedFetch } {
  const left: Record<string, ContractReply[]> = {
    contract: [...replies],
    [subAgent?.name ?? 'none']: [...(subAgent?.replies ?? [])],
  }
  const fetch = scriptedFetch({
    respond: ({ body }) => {
      const next = left[String(body.model)]?.shift()
      return next && stepOf(next)
    },
  })
  return { client: new OpenAI({ apiKey: 'k', fetch, maxRetries: 0 }), fetch }
}

function stepOf({ content, toolCalls, broken }: ContractReply): ScriptedStep {
  return {
    ...(content !== undefined && { content }),
    ...(toolCalls && { toolCalls: toolCalls.map(({ id, name, args }) => ({ id, name, arguments: args })) }),
    ...(broken && { cutAfterChunks: 2 }),
  }
}
