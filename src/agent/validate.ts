import { DISPATCHER } from '../dispatcher/is-dispatcher.ts'
import { assertOwnDispatcher } from '../dispatcher/own-dispatcher.ts'
import { PARENT } from '../dispatcher/run/operation-init.ts'
import { assertApprover } from '../gates/approver.ts'
import { APPROVAL_FIELDS } from '../gates/decision.ts'
import { assertGates } from '../gates/gate.ts'
import type { ApprovalOptions } from '../gates/index.ts'
import { HookspanError } from '../internal/errors.ts'
import { a, assertFields, expected, type Fields, required, shape } from '../internal/expect.ts'
import { hasJsonForm } from '../internal/schema/check-schema.ts'
import type { CheckpointStore } from './checkpoint/store.ts'
import type { Agent, AgentTool, Compaction, ExecAgentOptions } from './types.ts'

const TOOL_NAME = shape(
  '1 to 64 letters, digits, "_" or "-"',
  (value) => typeof value === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(value),
)
const ABOVE_ZERO = shape('a number > 0', (value) => typeof value === 'number' && value > 0)
const WHOLE = shape('a whole number >= 1', (value) => Number.isInteger(value) && (value as number) >= 1)

const OPTIONS: Fields<ExecAgentOptions> = {
  agent: a.value,
  prompt: a.value,
  messages: a.objects,
  client: a.value,
  hooks: shape(
    'a list of hooks, or of names of them',
    (value) => Array.isArray(value) && value.every((hook) => a.name.fits(hook) || a.object.fits(hook)),
  ),
  gates: a.value,
  disable: a.list,
  dispatcher: DISPATCHER,
  signal: a.signal,
  parent: PARENT,
  approver: shape(
    'an approver, or the function that asks',
    (value) => typeof value === 'function' || (typeof value === 'object' && value !== null),
  ),
  onText: a.function,
  priceOf: a.function,
  operationId: a.name,
  userId: a.string,
  conversationId: a.string,
  traceparent: a.value,
  attributes: a.object,
  checkpoint: shape(
    'true or false, or a store with claim(), append(), release() and list()',
    (value) => typeof value === 'boolean' || isStore(value),
  ),
}

function isStore(value: unknown): boolean {
  const store = value as Partial<CheckpointStore> | null
  return [store?.claim, store?.append, store?.release, store?.list].every((one) => typeof one === 'function')
}

/** What `resumeAgent` takes, too. */
const { prompt: _p, messages: _m, operationId: _o, traceparent: _t, parent: _c, ...shared } = OPTIONS
export const RESUME_FIELDS = shared

const AGENT: Fields<Agent> = {
  name: required(a.name),
  description: a.string,
  instructions: a.string,
  model: required(shape("a model's name", a.name.fits)),
  provider: a.name,
  tools: a.list,
  subAgents: a.objects,
  gates: a.value,
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

const COMPACTION: Fields<Compaction> = {
  thresholdTokens: required(a.number(1)),
  keepMessages: WHOLE,
  instructions: a.string,
  model: a.name,
  countTokens: a.function,
}

const TOOL: Fields<AgentTool> = {
  name: required(TOOL_NAME),
  description: a.string,
  parameters: shape(
    'JSON Schema, such as z.toJSONSchema(schema)',
    // One of zod is an object, too, and the model would be told what it has inside.
    (value) => a.object.fits(value) && hasJsonForm(value),
  ),
  execute: a.value,
  needsApproval: shape(
    'a boolean or a function',
    (value) => typeof value === 'boolean' || typeof value === 'function',
  ),
  approval: a.object,
  identifier: a.name,
  source: a.oneOf('local', 'mcp', 'http', 'agent', 'provider'),
  strict: a.boolean,
  idempotent: a.boolean,
}

/** @throws HookspanError `INVALID_OPTION` naming the value and the mend. */
export function assertOptions(options: ExecAgentOptions): void {
  assertFields<ExecAgentOptions>(options, OPTIONS, 'execAgent')
  const { agent, prompt, messages, client, approver, gates, dispatcher } = options
  if (dispatcher !== undefined) assertOwnDispatcher(dispatcher, 'execAgent')
  assertAgent(agent, new Set())
  if (gates !== undefined) {
    assertGates(gates)
    assertGates([...gates, ...(agent.gates ?? [])])
  }
  if (typeof approver === 'object') assertApprover(approver, 'execAgent', 'INVALID_OPTION')
  if (prompt !== undefined && typeof prompt !== 'string') throw expected('`prompt` to be a text', prompt)
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
  if (agent.compaction !== undefined) {
    assertFields<Compaction>(agent.compaction, COMPACTION, `\`compaction\` of ${whose}`)
  }
  assertTools(agent, whose)
  if (agent.gates !== undefined) assertGates(agent.gates)
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
    if (typeof tool.execute !== 'function') {
      throw new HookspanError(
        'INVALID_OPTION',
        `Tool "${tool.name}" of ${whose} has no \`execute\` function.`,
      )
    }
    if (tool.approval === undefined) continue
    assertFields<ApprovalOptions>(tool.approval, APPROVAL_FIELDS, `\`approval\` of tool "${tool.name}"`)
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
