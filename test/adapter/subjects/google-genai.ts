import { type CallableTool, type GenerateContentResponse, GoogleGenAI } from '@google/genai'
import type { ContractReply, ContractRun, ContractSubject, ContractTool } from 'hookspan/adapter/contract'
import { GOOGLE_GENAI_CAPABILITIES, observeGoogleGenAI } from 'hookspan/google-genai'
import { scriptedFetch } from 'hookspan/mock'
import { askedOf, expertTools, saysOf, stepOf, toldAsked } from './model.ts'

/** Automatic function calling of the real SDK, on models that say what the contract tells them to say. */
export const googleGenAISubject: ContractSubject = {
  name: 'observeGoogleGenAI',
  waitsForTools: true,
  capabilities: GOOGLE_GENAI_CAPABILITIES,
  async run(run) {
    const { dispatcher, agentName, prompt, tools, subAgent, stream, signal } = run
    const ai = observeGoogleGenAI(googleClient(run), { dispatcher, agentName })
    // As many as the longest run of the tests has: the SDK itself ends with ten.
    const automaticFunctionCalling = { maximumRemoteCalls: 15 }
    const config = { automaticFunctionCalling, ...(signal && { abortSignal: signal }) }
    const given = (of: readonly ContractTool[]) =>
      of.map(({ name, description, parameters, execute }) =>
        callable(name, description, parameters, (args) =>
          execute(args as { q: string }, signal ? { signal } : {}),
        ),
      )
    const expert =
      subAgent &&
      callable(subAgent.name, saysOf(subAgent.name), { type: 'object' }, async ({ instruction }) => {
        // An agent has tools: what asks once and has none is a question.
        const tool = callable('unused', 'Unused.', { type: 'object' }, async () => '')
        const params = {
          model: subAgent.name,
          contents: contentsOf(run, String(instruction)),
          config: {
            automaticFunctionCalling,
            tools: [tool, ...given(expertTools(run))],
          },
        }
        if (stream) {
          let said = ''
          for await (const chunk of await ai.models.generateContentStream(params)) said += chunk.text ?? ''
          return said
        }
        return (await ai.models.generateContent(params)).text ?? ''
      })
    const request = {
      model: 'contract',
      contents: prompt,
      config: { ...config, tools: [...given(tools), ...(expert ? [expert] : [])] },
    }
    try {
      if (stream === undefined) return done(await ai.models.generateContent(request))
      let content = ''
      for await (const chunk of await ai.models.generateContentStream(request)) {
        content += chunk.text ?? ''
        if (stream === 'abandon') break
      }
      return { status: 'done', content }
    } catch (error) {
      if ((error as { code?: string }).code === 'NOT_CAPABLE') throw error
      return { status: signal?.aborted ? 'interrupted' : 'error' }
    }
  },
}

function contentsOf(run: ContractRun, instruction: string) {
  const asked = askedOf(run, instruction)
  if (asked.length === 1) return instruction
  return asked.map(({ role, content: text }) => ({
    role: role === 'assistant' ? 'model' : role,
    parts: [{ text }],
  }))
}

const done = ({ text }: GenerateContentResponse) => ({ status: 'done' as const, content: text ?? '' })

export function callable(
  name: string,
  description: string,
  parametersJsonSchema: unknown,
  execute: (args: Record<string, unknown>) => Promise<string>,
): CallableTool {
  return {
    tool: async () => ({ functionDeclarations: [{ name, description, parametersJsonSchema }] }),
    callTool: (calls) =>
      Promise.all(
        // The SDK gives all calls of a turn to each of its tools.
        calls
          .filter((call) => call.name === name)
          .map(async ({ id, args = {} }) => {
            const response = await execute(args).then(
              (output) => ({ output }),
              (error: Error) => ({ error: error.message }),
            )
            return { functionResponse: { ...(id && { id }), name, response } }
          }),
      ),
  }
}

function googleClient(run: ContractRun): GoogleGenAI {
  const { replies, subAgent } = run
  const left: Record<string, ContractReply[]> = {
    contract: [...replies],
    [subAgent?.name ?? 'none']: [...(subAgent?.replies ?? [])],
  }
  const fetch = scriptedFetch({
    respond: ({ path, body }) => {
      const model = /models\/(\w+):/.exec(path)?.[1] ?? ''
      toldAsked(run, model, body)
      const next = left[model]?.shift()
      return next && stepOf(next, 1)
    },
  })
  return new GoogleGenAI({ apiKey: 'k', httpOptions: { fetch } as never })
}
