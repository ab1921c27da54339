import type { ToolOutOfReach } from '../../dispatcher/index.ts'
import { messages } from '../../wire/anthropic-messages.ts'
import { chat } from '../../wire/chat-completions.ts'
import { generateContent } from '../../wire/generate-content.ts'
import { asList, asObject } from '../../wire/reading.ts'
import { responses } from '../../wire/responses.ts'
import { hostedTools } from '../generated-client/hosted-tools.ts'
import type { StrandsModel } from './sdk.ts'

const PROVIDERS: readonly (readonly [RegExp, string])[] = [
  [/openai/i, 'openai'],
  [/anthropic/i, 'anthropic'],
  [/google|gemini/i, 'gcp.gemini'],
  [/bedrock/i, 'aws.bedrock'],
]

/** By the class of the model, or the class that it extends. */
export function providerOf(model: object): string {
  for (let at = Object.getPrototypeOf(model); at !== null; at = Object.getPrototypeOf(at)) {
    const name = String(at.constructor?.name)
    const known = PROVIDERS.find(([word]) => word.test(name))
    if (known !== undefined) return known[1]
  }
  return 'unknown'
}

/** What the provider runs by itself: the model object has it, and the agent knows nothing of it. */
export function providerTools(model: StrandsModel): ToolOutOfReach[] {
  const { params, anthropicTools, builtInTools } = model.getConfig?.() ?? {}
  const request = asObject(params) ?? {}
  const withOwn = (own: unknown) => ({ ...request, tools: [...asList(request.tools), ...asList(own)] })
  switch (providerOf(model)) {
    case 'openai':
      return hostedTools(model.api === 'chat' ? chat : responses, request)
    case 'anthropic':
      return hostedTools(messages, withOwn(anthropicTools))
    case 'gcp.gemini':
      return hostedTools(generateContent, withOwn(builtInTools))
    default:
      return []
  }
}
