import { HookspanError } from '../internal/errors.ts'
import { a, assertFields, expected, type Fields, required, shape } from '../internal/expect.ts'
import { assertCompaction } from './compaction.ts'
import type { Agent, AgentTool, ExecAgentOptions } from './types.ts'

const TOOL_NAME = shape(
  '1 to 64 letters, digits, "_" or "-"',
  (value) => typeof value === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(value),
)
const ABOVE_ZERO = shape('a number > 0', (value) => typeof value === 'number' && value > 0)
const WHOLE = shape('a whole number >= 1', (value) => Number.isInteger(value) && (value as number) >= 1)

const OPTIONS: Fields<ExecAgentOptions> = {
  agent: a.value,
  prompt: a.value,
  messages: a.value,
  client: a.value,
  hooks: a.list,
  dispatcher: a.object,
  signal: a.signal,
  parent: a.value,
  approver: a.value,
  onText: a.function,
  priceOf: a.function,
  operationId: a.value,
  userId: a.value,
  conversationId: a.value,
  traceparent: a.value,
  attributes: a.object,
}

const AGENT: Fields<Agent> = {
  name: required(a.name),
  description: a.string,
  instructions: a.string,
  model: required(shape("a model's name", a.name.fits)),
  provider: a.name,
  tools: a.list,
  subAgents: a.list,
  api: a.oneOf('chat', 'responses'),
  stream: a.boolean,
  maxSteps: WHOLE,
  maxCostUsd: ABOVE_ZERO,
  compaction: a.object,
  temperature: a.finite,
  topP: a.finite,
  maxOutputTokens: a.finite,
  request: a.object,
  maxToolResultBytes: ABOVE_ZERO,
}

const TOOL: Fields<AgentTool> = {
  name: a.value,
  description: a.string,
  parameters: a.object,
  execute: a.value,
  needsApproval: shape(
    'a boolean or a function',
    (value) => typeof value === 'boolean' || typeof value === 'function',
  ),
  approval: a.object,
  identifier: a.name,
  source: a.oneOf('local', 'mcp', 'http', 'agent', 'provider'),
  strict: a.boolean,
}

/** @throws HookspanError `INVALID_OPTION` naming the value and the mend. */
export function assertOptions(options: ExecAgentOptions): void {
  assertFields<ExecAgentOptions>(options, OPTIONS, 'execAgent')
  const { agent, prompt, messages, client } = options
  assertAgent(agent, new Set())
  if (prompt !== undefined && typeof prompt !== 'string') throw expected('`prompt` to be a text', prompt)
  if (messages !== undefined && !Array.isArray(messages)) throw expected('`messages` to be a list', messages)
  if (prompt === undefined && (messages === undefined || messages.length === 0)) {
    throw new HookspanError('INVALID_OPTION', 'execAgent needs a `prompt` or `messages`.')
  }
  if (client !== undefined && typeof client?.chat?.completions?.create !== 'function') {
    throw expected('`client` to be an `openai` client, with `chat.completions.create()`', client)
  }
}

function assertAgent(agent: Agent, seen: Set<Agent>): void {
  if (typeof agent !== 'object' || agent === null) throw expected('an agent', agent)
  if (seen.has(agent)) return
  seen.add(agent)
  const { name } = agent
  const whose = a.name.fits(name) ? `agent "${name}"` : 'the agent'
  assertFields<Agent>(agent, AGENT, whose)
  assertCompaction(agent)
  assertTools(agent, whose)
  for (const subAgent of agent.subAgents ?? []) {
    assertName(subAgent?.name, `a sub-agent of "${name}", which is also its tool's name,`)
    assertAgent(subAgent, seen)
  }
}

function assertTools({ name, tools = [], subAgents = [] }: Agent, whose: string): void {
  const names = new Set<string>()
  for (const tool of tools) {
    assertName(tool?.name, `a tool of ${whose}`)
    assertFields<AgentTool>(tool, TOOL, `tool "${tool.name}" of ${whose}`)
    if (typeof tool.execute === 'function') continue
    throw new HookspanError('INVALID_OPTION', `Tool "${tool.name}" of ${whose} has no \`execute\` function.`)
  }
  for (const { name: toolName } of [...tools, ...subAgents]) {
    if (names.has(toolName)) {
      const message = `Agent "${name}" has two tools or sub-agents named "${toolName}".`
      throw new HookspanError('INVALID_OPTION', message)
    }
    names.add(toolName)
  }
}

function assertName(name: unknown, whose: string): void {
  if (!TOOL_NAME.fits(name)) throw expected(`the name of ${whose} to be ${TOOL_NAME.words}`, name)
}
