import type { ContractSubject, ContractTool } from 'hookspan/adapter/contract'
import { OPENAI_CAPABILITIES, observeOpenAI } from 'hookspan/openai'
import OpenAI from 'openai'
import { askedOf, contractClient, expertTools, saysOf } from './model.ts'

type Messages = OpenAI.ChatCompletionMessageParam[]
type Tools = Parameters<OpenAI['chat']['completions']['runTools']>[0]['tools']

/** `chat.completions.runTools()` of the real SDK, on models that say what the contract tells them to say. */
export const openaiRunToolsSubject: ContractSubject = {
  name: 'observeOpenAI, runTools',
  capabilities: OPENAI_CAPABILITIES,
  readsItself: true,
  endsOnFailure: true,
  waitsForTools: true,
  async run(run) {
    const { dispatcher, agentName, prompt, tools, subAgent, stream, signal } = run
    const client = observeOpenAI(contractClient(run).client, { dispatcher, agentName })
    const ask = async (model: string, messages: Messages, given: Tools) => {
      const body = { model, messages, tools: given }
      const options = { maxChatCompletions: 15, ...(signal && { signal }) }
      const runner = stream
        ? client.chat.completions.runTools(
            { ...body, stream: true, stream_options: { include_usage: true } },
            options,
          )
        : client.chat.completions.runTools(body, options)
      return (await runner.finalContent()) ?? ''
    }
    const given = (of: readonly ContractTool[]) =>
      of.map(({ name, description, parameters, execute }) => ({
        type: 'function' as const,
        function: {
          name,
          description,
          parameters: parameters as never,
          parse: JSON.parse,
          function: (args: never) => execute(args, signal ? { signal } : {}),
        },
      }))
    const expert = subAgent && {
      type: 'function' as const,
      function: {
        name: subAgent.name,
        description: saysOf(subAgent.name),
        parameters: { type: 'object' },
        parse: JSON.parse,
        function: ({ instruction }: { instruction: string }) =>
          ask(subAgent.name, askedOf(run, instruction), given(expertTools(run)) as never),
      },
    }
    try {
      const content = await ask('contract', [{ role: 'user', content: prompt }], [
        ...given(tools),
        ...(expert ? [expert] : []),
      ] as Tools)
      return { status: 'done', content }
    } catch (error) {
      if (error instanceof OpenAI.APIUserAbortError) return { status: 'interrupted' }
      if (!(error instanceof OpenAI.OpenAIError)) throw error
      return { status: 'error' }
    }
  },
}
