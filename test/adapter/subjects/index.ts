import type { ContractSubject } from 'hookspan/adapter/contract'
import { aiSdkSubject } from './ai-sdk.ts'
import { anthropicSubject } from './anthropic.ts'
import { execAgentSubject } from './exec-agent.ts'
import { googleGenAISubject } from './google-genai.ts'
import { langchainSubject } from './langchain.ts'
import { mcpSubject } from './mcp.ts'
import { openaiAgentsSubject } from './openai-agents.ts'
import { openaiRunToolsSubject } from './openai-run-tools.ts'
import { ownLoopSubject } from './own-loop.ts'

/** All that the contract is held to, and that are compared with each other. */
export const SUBJECTS: readonly ContractSubject[] = [
  execAgentSubject,
  ownLoopSubject,
  openaiRunToolsSubject,
  aiSdkSubject,
  openaiAgentsSubject,
  langchainSubject,
  anthropicSubject,
  googleGenAISubject,
  mcpSubject('1'),
  mcpSubject('2'),
]
