/** What a test needs to know of a run, read from its spans. */

import { HookspanError } from '../../internal/errors.ts'
import { modelCall, toolCallFacts } from '../model/call-content.ts'
import { chatMessages, type RunContent } from '../model/data-set.ts'
import { type Message, messageText } from '../model/messages.ts'
import type { AttributeValue, SpanRow } from '../model/span.ts'
import { buildTree, flatten, type TreeNode } from '../model/tree.ts'
import { eachCallOnce } from '../model/tree-parts.ts'
import type { ReadModelStep, ReadToolCall } from './read-call.ts'
import { repeatable } from './repeatable.ts'

export interface ReadAgent {
  name: string
  model: string
  instructions: string
  /** As the model was told of them. */
  tools: { name: string; description?: string; parameters?: AttributeValue }[]
  subAgents: ReadAgent[]
}

export interface ReadRun {
  /** What the model was sent before the first question, without the system's. */
  history: object[]
  prompts: string[]
  steps: ReadModelStep[]
  /** Of those, how many the run's own agent took since it was asked last. */
  lastSteps: number
  /** Its last step called tools, and no reply followed: its runtime, or a limit, ended it there. */
  endsOnTools: boolean
  calls: ReadToolCall[]
  agent: ReadAgent
  isCompacted: boolean
  /** What the stand-in of a test cannot repeat, where one is wanted. */
  leftOut: readonly string[]
}

interface Placed {
  row: SpanRow
  node: TreeNode
  agents: readonly string[]
  /** The span of the innermost of them. */
  agent: SpanRow | undefined
}

/** @throws HookspanError when the run lacks what a test is made of, saying what. */
export function readRun({ summary, rows, open }: RunContent, standsIn = false): ReadRun {
  const id = summary.traceId
  const root = buildTree(rows)
  const placed = root ? walk(root) : []
  // Where the call was parked, the sub-agent lies in the span before.
  const runsAgent = ({ row, children }: TreeNode) =>
    row.category === 'tool' && children.some((child) => child.row.category === 'agent')
  const subAgents = new Set(
    root &&
      flatten(root)
        .filter(runsAgent)
        .map(({ row }) => row.label),
  )
  const modelRows = placed.filter(({ row }) => row.category === 'llm').sort(byStart)
  const read = modelRows.map((place) => {
    const span = open(place.row.spanId)
    return { ...place, ...(span ? modelCall(span) : { input: [], output: [], tools: [] }) }
  })
  if (read.length === 0)
    throw new HookspanError(
      'INVALID_OPTION',
      `Run ${id} has no model call: there is nothing to make a test of.`,
    )
  const silent = read.find(({ output, row }) => output.length === 0 && !row.error)
  if (silent !== undefined)
    throw new HookspanError(
      'INVALID_OPTION',
      `Run ${id} does not hold what its model said (span ${silent.row.spanId}). Trace it with \`captureContent: true\`.`,
    )
  const own = read.filter(({ agents }) => agents.length <= 1)
  const steps = read.map(({ output, row }) => stepOf(output, row))
  const made = placed.filter(({ row }) => row.category === 'tool').sort(byStart)
  const all = made.map((place) => {
    const turn = modelRows.filter((model) => model.row.startUs <= place.row.startUs).length
    return {
      ...callOf(place, open, subAgents),
      turn,
      asked: askedFor(place.row.callId, steps.slice(0, turn)),
      ends: endsAgent(place, made, open),
    }
  })
  addWrittenCalls(steps, read, all)
  const { calls, unasked, leftOut } = standsIn
    ? repeatable(steps, read, all)
    : { calls: all, unasked: new Set<number>(), leftOut: [] }
  const mine = (own.length > 0 ? own : read).filter((place) => !unasked.has(read.indexOf(place)))
  const { history, prompts, firstAt, lastAt } = turnsOf(
    mine.map(({ input, output }) => ({ input, output })),
    mine.map((place) => steps[read.indexOf(place)]!.toolCalls.length > 0),
  )
  if (prompts.length === 0)
    throw new HookspanError(
      'INVALID_OPTION',
      `Run ${id} does not hold what its user said: a test would ask nothing.`,
    )
  return {
    history,
    prompts,
    // What the agent said before it was asked anything is what it goes on from.
    steps: steps.filter(
      (_step, index) => !unasked.has(index) && !mine.slice(0, firstAt).includes(read[index]!),
    ),
    lastSteps: mine.length - lastAt,
    endsOnTools: (steps[read.indexOf(mine.at(-1)!)]?.toolCalls.length ?? 0) > 0,
    calls,
    agent: agentOf(read, calls, [summary.agent || 'agent']),
    isCompacted: placed.some(({ row }) => row.category === 'compact'),
    leftOut,
  }
}

/** Where the model wrote its calls as text, which its runtime read, the calls that were made are those it asked for. */
function addWrittenCalls(
  steps: readonly ReadModelStep[],
  read: readonly Placed[],
  calls: readonly ReadToolCall[],
): void {
  if (steps.some(({ toolCalls }) => toolCalls.length > 0)) return
  for (const [index, step] of steps.entries()) {
    const here = calls.filter(
      ({ turn, agents }) => turn === index + 1 && agents.join('\n') === read[index]!.agents.join('\n'),
    )
    if (step.error) continue
    step.toolCalls = here.map(({ name, args }, at) => ({
      id: `written_${index}_${at}`,
      name,
      arguments: args,
    }))
  }
}

/** Ids may come again: the last one is meant. */
function askedFor(callId: string, steps: readonly ReadModelStep[]): AttributeValue | undefined {
  const asked = steps.flatMap(({ toolCalls }) => toolCalls).findLast(({ id }) => id === callId)
  return callId === '' ? undefined : asked?.arguments
}

/** The last refusal that an agent met, where that is how it ended, and it was a gate's. */
function endsAgent({ row, agent }: Placed, made: readonly Placed[], open: RunContent['open']): boolean {
  if (agent === undefined || row.outcome !== 'denied') return false
  if (open(agent.spanId)?.attributes['hookspan.operation.reason'] !== 'denied') return false
  const own = made.filter((one) => one.agent === agent)
  // A person who ended it needs no gate.
  if (own.some(({ node }) => node.children.some(({ row: { human } }) => human?.action === 'reject')))
    return false
  return own.findLast((one) => one.row.outcome === 'denied')?.row === row
}

const byStart = (a: Placed, b: Placed) => a.row.startUs - b.row.startUs

function walk(root: TreeNode): Placed[] {
  const found = new Map<TreeNode, Placed>()
  const stack: Pick<Placed, 'node' | 'agents' | 'agent'>[] = [{ node: root, agents: [], agent: undefined }]
  const inOrder: TreeNode[] = []
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    const { node } = top
    const { category, label } = node.row
    const agents = category === 'agent' && top.agents.at(-1) !== label ? [...top.agents, label] : top.agents
    const agent = category === 'agent' ? node.row : top.agent
    found.set(node, { row: node.row, node, agents, agent })
    inOrder.push(node)
    for (const child of [...node.children].reverse()) stack.push({ node: child, agents, agent })
  }
  // Model calls that several instrumentations told come once.
  return eachCallOnce(inOrder).map((node) => found.get(node)!)
}

/** What the user said, a text for each time that the run was asked. */
function turnsOf(
  calls: readonly { input: Message[]; output: Message[] }[],
  /** Of each, whether tools were called by it: what comes then in the user's place is what they gave. */
  callsTools: readonly boolean[],
): Pick<ReadRun, 'history' | 'prompts'> & { firstAt: number; lastAt: number } {
  const first = (calls[0]?.input ?? []).filter(({ role }) => role !== 'system')
  const at = first.findLastIndex(isUsers)
  const prompts = at < 0 ? [] : [messageText(first[at]!)]
  let firstAt = 0
  let lastAt = 0
  for (const [index, { input }] of calls.entries()) {
    const last = input.at(-1)
    if (index === 0 || last === undefined || !isUsers(last)) continue
    if (callsTools[index - 1]) continue
    if (prompts.length === 0) firstAt = index
    prompts.push(messageText(last))
    lastAt = index
  }
  const greeting = calls.slice(0, firstAt).flatMap(({ output }) => output)
  const history = [...first.slice(0, Math.max(0, at)), ...greeting].flatMap(chatMessages)
  return { history, prompts: prompts.filter(Boolean), firstAt, lastAt }
}

function isUsers({ role }: Message): boolean {
  return role === 'user' || role === 'human'
}

function stepOf(output: readonly Message[], row: SpanRow): ReadModelStep {
  const toolCalls = output.flatMap(({ parts }) =>
    parts.flatMap((part) =>
      part.type === 'tool_call' ? [{ id: part.id, name: part.name, arguments: part.arguments }] : [],
    ),
  )
  const content = output.map(messageText).filter(Boolean).join('\n') || null
  return { content, toolCalls, error: output.length === 0 ? row.errorText || 'failed' : '' }
}

function callOf(
  { row, node, agents }: Placed,
  open: RunContent['open'],
  subAgents: ReadonlySet<string>,
): Omit<ReadToolCall, 'turn' | 'asked' | 'ends'> {
  const span = open(row.spanId)
  const facts = span ? toolCallFacts(span) : { args: null, result: null, error: '' }
  const gate = row.gates?.find(({ decision, enforced }) => decision === 'deny' && enforced)
  const asked = node.children.find((child) => child.row.category === 'human')
  const reason = asked && open(asked.row.spanId)?.attributes['hookspan.human.rejection_reason']
  return {
    name: row.label,
    callId: row.callId,
    ...facts,
    outcome: row.outcome || (row.error ? 'errored' : 'completed'),
    agents,
    isSubAgent: subAgents.has(row.label),
    gate: gate && {
      id: gate.id,
      ...(gate.code && { code: gate.code }),
      ...(gate.reason && { reason: gate.reason }),
    },
    human: asked && {
      action: asked.row.human?.action ?? 'timeout',
      approver: asked.row.human?.approver,
      ...(typeof reason === 'string' && { reason }),
    },
  }
}

type ReadCall = Placed & ReturnType<typeof modelCall>

/** As far as its model calls tell. */
function agentOf(
  read: readonly ReadCall[],
  calls: readonly ReadToolCall[],
  path: readonly string[],
): ReadAgent {
  const isHere = (agents: readonly string[]) =>
    agents.length === Math.max(path.length, 1) || (path.length === 1 && agents.length === 0)
  const isOf = (agents: readonly string[]) => path.slice(1).every((name, index) => agents[index + 1] === name)
  const own = read.filter(({ agents }) => isHere(agents) && isOf(agents))
  const below = read.filter(({ agents }) => agents.length > path.length && isOf(agents))
  const names = [...new Set(below.map(({ agents }) => agents[path.length]!))]
  const first = own[0]
  const told = own.flatMap(({ tools }) => tools.map(({ value }) => definitionOf(value)))
  const called = calls.filter(({ agents }) => isHere(agents) && isOf(agents)).map(({ name }) => ({ name }))
  const tools = new Map([...called, ...told].map((tool) => [tool.name, tool]))
  for (const name of ['', ...names]) tools.delete(name)
  return {
    name: path.at(-1)!,
    model: first?.row.label || 'a-model',
    instructions:
      first?.input
        .filter(({ role }) => role === 'system')
        .map(messageText)
        .join('\n') ?? '',
    tools: [...tools.values()],
    subAgents: names.map((name) => agentOf(read, calls, [...path, name])),
  }
}

function definitionOf(value: AttributeValue): ReadAgent['tools'][number] {
  const outer = (value ?? {}) as Record<string, AttributeValue>
  const {
    name,
    description,
    parameters,
    input_schema: schema,
  } = (typeof outer.function === 'object' && outer.function !== null ? outer.function : outer) as Record<
    string,
    AttributeValue
  >
  const given = parameters ?? schema
  return {
    name: String(name ?? ''),
    ...(typeof description === 'string' && { description }),
    ...(given != null && { parameters: given }),
  }
}
