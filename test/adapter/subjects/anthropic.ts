import Anthropic from '@anthropic-ai/sdk'
import type { ContractReply, ContractRun, ContractSubject, ContractTool } from 'hookspan/adapter/contract'
import { ANTHROPIC_CAPABILITIES, observeAnthropic } from 'hookspan/anthropic'
import { scriptedFetch } from 'hookspan/mock'
import { askedOf, expertTools, saysOf, stepOf, toldAsked } from './model.ts'

type Params = Parameters<Anthropic['beta']['messages']['toolRunner']>[0]

/** `beta.messages.toolRunner()` of the real SDK, on models that say what the contract tells them to say. */
export const anthropicSubject: ContractSubject = {
  name: 'observeAnthropic',
  waitsForTools: true,
  capabilities: ANTHROPIC_CAPABILITIES,
  readsItself: true,
  async run(run) {
    const { dispatcher, agentName, prompt, tools, subAgent, stream, signal } = run
    const client = observeAnthropic(anthropicClient(run), { dispatcher, agentName })
    const ask = (model: string, messages: Params['messages'], more: Partial<Params>) =>
      client.beta.messages.toolRunner(
        { model, max_tokens: 100, messages, tools: [], ...more } as Params,
        signal && { signal },
      )
    const given = (of: readonly ContractTool[]) =>
      of.map(({ name, description, parameters, execute }) => ({
        name,
        description,
        input_schema: parameters as never,
        run: (args: never, context: { signal?: AbortSignal | null } | undefined) =>
          execute(args, context?.signal ? { signal: context.signal } : {}),
      }))
    const expert = subAgent && {
      name: subAgent.name,
      description: saysOf(subAgent.name),
      input_schema: { type: 'object' as const },
      run: async ({ instruction }: { instruction: string }) =>
        contentOf(
          await ask(subAgent.name, askedOf(run, instruction), {
            tools: given(expertTools(run)) as never,
            ...(stream && { stream: true }),
          }),
        ),
    }
    try {
      const more = {
        tools: [...given(tools), ...(expert ? [expert] : [])] as never,
        ...(stream && { stream: true }),
      }
      return {
        status: 'done',
        content: contentOf(await ask('contract', [{ role: 'user', content: prompt }], more)),
      }
    } catch (error) {
      if (error instanceof Anthropic.APIUserAbortError) return { status: 'interrupted' }
      if (!(error instanceof Anthropic.AnthropicError)) throw error
      return { status: 'error' }
    }
  },
}

function contentOf({ content }: Anthropic.Beta.BetaMessage): string {
  return content.flatMap((block) => (block.type === 'text' ? block.text : [])).join('')
}

function anthropicClient(run: ContractRun): Anthropic {
  const { replies, subAgent } = run
  const left: Record<string, ContractReply[]> = {
    contract: [...replies],
    [subAgent?.name ?? 'none']: [...(subAgent?.replies ?? [])],
  }
  const fetch = scriptedFetch({
    respond: ({ body }) => {
      toldAsked(run, String(body.model), body)
      const next = left[String(body.model)]?.shift()
      return next && stepOf(next, 3)
    },
  })
  return new Anthropic({ apiKey: 'k', fetch, maxRetries: 0 })
}
