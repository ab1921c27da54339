import { type AgentTool, execAgent } from 'hookspan/agent'
import { observeOpenAI } from 'hookspan/openai'
import OpenAI, { AzureOpenAI } from 'openai'

declare const chat: OpenAI.ChatCompletionMessageParam[]
declare const items: OpenAI.Responses.ResponseInputItem[]
declare const dispatcher: import('hookspan').HookDispatcher

const typed: AgentTool<{ city: string }> = {
  name: 'typed',
  execute: ({ city }) => city.length,
  needsApproval: ({ city }) => city === 'Berlin',
}
const tools: AgentTool[] = [
  typed,
  { name: 'annotated', execute: ({ city }: { city: string }) => city },
  { name: 'loose', execute: ({ city }, { signal }) => [city, signal.aborted] },
  // @ts-expect-error a tool does something
  { name: 'idle' },
]
const agent = { name: 'a', model: 'gpt-4o', tools }

// The real client and the types of its two APIs fit.
void execAgent({ agent, messages: chat, client: new OpenAI() })
void execAgent({ agent, messages: items, client: new AzureOpenAI() })
// @ts-expect-error an agent has a model
void execAgent({ agent: { name: 'a' }, prompt: 'x' })
// @ts-expect-error there are two APIs
void execAgent({ agent: { ...agent, api: 'soap' }, prompt: 'x' })

// The client keeps its type.
const azure: AzureOpenAI = observeOpenAI(new AzureOpenAI(), { dispatcher })
void azure.deploymentName
// @ts-expect-error hooks need a dispatcher
observeOpenAI(new OpenAI(), {})
