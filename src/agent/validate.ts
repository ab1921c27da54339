import { describeValue, HookspanError } from '../internal/errors.ts'
import { assertCompaction } from './compaction.ts'
import type { Agent, ExecAgentOptions } from './types.ts'

const NAME = /^[A-Za-z0-9_-]{1,64}$/

/** @throws HookspanError `INVALID_OPTION` naming the value and the mend. */
export function assertOptions(options: ExecAgentOptions): void {
  if (typeof options !== 'object' || options === null) {
    throw invalid(`Expected the options of execAgent, got ${describeValue(options)}`)
  }
  const { agent, prompt, messages, client } = options
  assertAgent(agent, new Set())
  if (prompt !== undefined && typeof prompt !== 'string') {
    throw invalid(`Expected \`prompt\` to be a text, got ${describeValue(prompt)}`)
  }
  if (messages !== undefined && !Array.isArray(messages)) {
    throw invalid(`Expected \`messages\` to be a list, got ${describeValue(messages)}`)
  }
  if (prompt === undefined && (messages === undefined || messages.length === 0)) {
    throw invalid('execAgent needs a `prompt` or `messages`')
  }
  if (client !== undefined && typeof client?.chat?.completions?.create !== 'function') {
    throw invalid(
      'Expected `client` to be an `openai` client, with `chat.completions.create()`; ' +
        `got ${typeof client === 'object' ? 'an object without it' : describeValue(client)}`,
    )
  }
}

function assertAgent(agent: Agent, seen: Set<Agent>): void {
  if (typeof agent !== 'object' || agent === null)
    throw invalid(`Expected an agent, got ${describeValue(agent)}`)
  if (seen.has(agent)) return
  seen.add(agent)
  const { name, model, api, maxSteps, maxCostUsd, maxToolResultBytes } = agent
  if (typeof name !== 'string' || name === '') {
    throw invalid(`Expected \`name\` of the agent to be a non-empty string, got ${describeValue(name)}`)
  }
  if (typeof model !== 'string' || model === '') {
    throw invalid(`Expected \`model\` of agent "${name}" to be a model's name, got ${describeValue(model)}`)
  }
  if (api !== undefined && api !== 'chat' && api !== 'responses') {
    throw invalid(
      `Expected \`api\` of agent "${name}" to be "chat" or "responses", got ${describeValue(api)}`,
    )
  }
  if (maxSteps !== undefined && !(Number.isInteger(maxSteps) && maxSteps >= 1)) {
    throw invalid(
      `Expected \`maxSteps\` of agent "${name}" to be a whole number >= 1, got ${describeValue(maxSteps)}`,
    )
  }
  for (const [key, value] of Object.entries({ maxCostUsd, maxToolResultBytes })) {
    if (value === undefined || (typeof value === 'number' && value > 0)) continue
    throw invalid(`Expected \`${key}\` of agent "${name}" to be a number > 0, got ${describeValue(value)}`)
  }
  assertCompaction(agent)
  assertTools(agent)
  for (const subAgent of agent.subAgents ?? []) {
    assertName(subAgent?.name, `a sub-agent of "${name}", which is also its tool's name,`)
    assertAgent(subAgent, seen)
  }
}

function assertTools({ name, tools = [], subAgents = [] }: Agent): void {
  const names = new Set<string>()
  for (const tool of tools) {
    assertName(tool?.name, `a tool of agent "${name}"`)
    if (typeof tool.execute !== 'function') {
      throw invalid(`Tool "${tool.name}" of agent "${name}" has no \`execute\` function`)
    }
  }
  for (const { name: toolName } of [...tools, ...subAgents]) {
    if (names.has(toolName)) throw invalid(`Agent "${name}" has two tools or sub-agents named "${toolName}"`)
    names.add(toolName)
  }
}

function assertName(name: unknown, whose: string): void {
  if (typeof name === 'string' && NAME.test(name)) return
  throw invalid(
    `Expected the name of ${whose} to be 1 to 64 letters, digits, "_" or "-", got ${describeValue(name)}`,
  )
}

function invalid(message: string): HookspanError {
  return new HookspanError('INVALID_OPTION', `${message}.`)
}
