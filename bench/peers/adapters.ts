import { AnthropicInstrumentation } from '@arizeai/openinference-instrumentation-anthropic'
import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain'
import {
  Anthropic,
  anthropicAgent,
  anthropicClient,
  CallbackManager,
  langchainAgent,
} from '../suites/adapters-agents.ts'
import { sendingSpans } from '../suites/adapters-ways.ts'

const traceConfig = { hideInputs: true, hideOutputs: true }

export const ways = {
  'langchain/openinference': () =>
    sendingSpans(() => {
      new LangChainInstrumentation({ traceConfig }).manuallyInstrument({ CallbackManager } as never)
      return langchainAgent([])
    }),
  'anthropic/openinference': () => {
    // The SDK's own spans would come on top.
    process.env.ANTHROPIC_OPEN_TELEMETRY = 'false'
    return sendingSpans(() => {
      new AnthropicInstrumentation({ traceConfig }).manuallyInstrument(Anthropic as never)
      return anthropicAgent(anthropicClient())
    })
  },
}
