import { describeDurable } from './durable/describe-durable.ts'
import { aiSdkSubject } from './subjects/ai-sdk.ts'
import { anthropicSubject } from './subjects/anthropic.ts'
import { googleGenAISubject } from './subjects/google-genai.ts'
import { langchainSubject } from './subjects/langchain.ts'
import { openaiAgentsSubject } from './subjects/openai-agents.ts'
import { openaiRunToolsSubject } from './subjects/openai-run-tools.ts'

describeDurable([
  aiSdkSubject,
  openaiAgentsSubject,
  openaiRunToolsSubject,
  langchainSubject,
  anthropicSubject,
  googleGenAISubject,
])
