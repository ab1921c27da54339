import { HookDispatcher, type Operation, type PriceOf } from '../dispatcher/index.ts'
import type { Approver } from '../gates/index.ts'
import type { CompletionReason } from '../hooks/index.ts'
import { errorMessage } from '../internal/errors.ts'
import { modelServer } from '../internal/llm/provider.ts'
import { requirePeer } from '../internal/require-peer.ts'
import type { ModelAccess } from './call-model.ts'
import { Compactor } from './compaction.ts'
import { type LoopState, runLoop } from './loop.ts'
import { modelApi } from './model-api.ts'
import { assertPriced, installedPrices } from './prices.ts'
import { Spending } from './spending.ts'
import { subAgentTool } from './sub-agents.ts'
import { Toolbox } from './tools.ts'
import type { Agent, AgentRun, ExecAgentOptions, OpenAIClient } from './types.ts'
import { assertOptions } from './validate.ts'

const DEFAULT_MAX_RESULT_BYTES = 1_000_000

/**
 * Runs an agent until its model asks for no more tools, or a limit, a gate, a human or the signal ends it.
 *
 * @returns how it ended; also where the model failed: then `status` is `error`.
 * @throws HookspanError `INVALID_OPTION` for an agent or options that cannot work, `MISSING_DEPENDENCY` for an
 * optional package that is needed and not installed. Then nothing was run.
 * @example
 * const run = await execAgent({ agent: { name: 'support', model: 'gpt-4o', tools: [search] }, prompt: 'Where is my bag?' })
 * console.log(run.content)
 */
export async function execAgent(options: ExecAgentOptions): Promise<AgentRun> {
  assertOptions(options)
  const dispatcher = options.dispatcher ?? new HookDispatcher()
  const shared: Shared = {
    dispatcher,
    client: options.client ?? newClient(),
    prices: options.priceOf ?? dispatcher.priceOf ?? installedPrices(),
    onText: options.onText,
  }
  return run(shared, options, undefined)
}

/** What a run and its sub-agents have in common. */
interface Shared {
  readonly dispatcher: HookDispatcher
  readonly client: OpenAIClient
  readonly prices: PriceOf | undefined
  readonly onText: ExecAgentOptions['onText']
}

async function run(
  shared: Shared,
  options: ExecAgentOptions,
  callerSpending: Spending | undefined,
): Promise<AgentRun> {
  const { agent, prompt, messages = [] } = options
  const { dispatcher, client, prices } = shared
  const api = modelApi(agent)
  const known = modelServer(client.baseURL)
  const server = { ...known, provider: agent.provider ?? known.provider }
  assertPriced(agent, server.provider, prices)
  const spending = new Spending({
    agentName: agent.name,
    prices,
    maxCostUsd: agent.maxCostUsd,
    parent: callerSpending,
  })
  const subAgents = (agent.subAgents ?? []).map((subAgent) =>
    subAgentTool(subAgent, (child, instruction, parent) =>
      run(shared, { agent: child, prompt: instruction, parent }, spending),
    ),
  )
  const toolbox = new Toolbox(
    [...(agent.tools ?? []), ...subAgents],
    agent.maxToolResultBytes ?? DEFAULT_MAX_RESULT_BYTES,
  )
  const conversation = api.open(agent, messages, prompt)
  const state: LoopState = {
    messages: conversation,
    context: conversation,
    content: '',
    pending: [],
    steps: 0,
  }
  let callIds = 0
  const access: ModelAccess = {
    agent,
    api,
    client,
    server,
    tools: toolbox.definitions,
    spending,
    onText: (text) => tellText(shared.onText, text, { op, agent, state }),
    newCallId: () => `call_${op.operationId}_${callIds++}`,
  }
  const compactor = agent.compaction && new Compactor(agent, agent.compaction, access)
  const op = start(dispatcher, options, spending, toolbox)
  const end = await finish(op, state, () => runLoop({ op, access, toolbox, compactor, state }))
  const { costUsd } = spending
  return {
    operationId: op.operationId,
    status: statusOf(end.reason),
    ...end,
    content: state.content,
    messages: state.messages,
    usage: spending.usage,
    ...(costUsd !== undefined && { costUsd }),
    steps: state.steps,
  }
}

function start(
  dispatcher: HookDispatcher,
  options: ExecAgentOptions,
  spending: Spending,
  toolbox: Toolbox,
): Operation {
  const { agent, prompt, messages, hooks, approver, signal, parent, operationId } = options
  const { userId, conversationId, traceparent, attributes } = options
  const op: Operation = dispatcher.startOperation({
    agentName: agent.name,
    input: prompt ?? messages,
    priceOf: spending.priceOf,
    gates: [toolbox.approvalGate(() => op.operationId)],
    ...(agent.instructions !== undefined && { instructions: agent.instructions }),
    ...(hooks && { hooks: [...hooks] }),
    ...(approver && { approver: asApprover(approver) }),
    ...(signal && { signal }),
    ...(parent && { parent }),
    ...(operationId !== undefined && { operationId }),
    ...(userId !== undefined && { userId }),
    ...(conversationId !== undefined && { conversationId }),
    ...(traceparent !== undefined && { traceparent }),
    ...(attributes && { attributes }),
  })
  return op
}

/** Ends the operation the way the loop ended. */
async function finish(
  op: Operation,
  state: LoopState,
  loop: () => Promise<CompletionReason>,
): Promise<Pick<AgentRun, 'reason' | 'error' | 'denial'>> {
  let reason: CompletionReason
  try {
    reason = await loop()
  } catch (error) {
    // Ended from outside, when the process ends: nothing is left to be told.
    if (op.ended) return { reason: 'interrupted' }
    if (!op.signal?.aborted && !op.stopRequested) {
      await op.fail(error)
      return { reason: 'error', error }
    }
    reason = op.signal?.aborted ? 'interrupted' : 'denied'
  }
  await op.complete({ reason, content: state.content })
  const { stopRequested } = op
  if (reason !== 'denied' || stopRequested === undefined) return { reason }
  return { reason, denial: { code: stopRequested.code, reason: stopRequested.reason } }
}

function statusOf(reason: CompletionReason): AgentRun['status'] {
  if (reason === 'error') return 'error'
  return reason === 'interrupted' || reason === 'denied' ? 'interrupted' : 'done'
}

function tellText(
  onText: ExecAgentOptions['onText'],
  text: string,
  { op, agent, state }: { op: Operation; agent: Agent; state: LoopState },
): void {
  if (onText === undefined) return
  try {
    onText(text, { operationId: op.operationId, agentName: agent.name, stepIndex: state.steps })
  } catch (error) {
    console.warn(`hookspan: \`onText\` threw, and the run goes on: ${errorMessage(error)}`)
  }
}

function asApprover(approver: NonNullable<ExecAgentOptions['approver']>): Approver {
  return typeof approver === 'function' ? { requestApproval: approver } : approver
}

function newClient(): OpenAIClient {
  const { OpenAI } = requirePeer<typeof import('openai')>('openai', 'execAgent without a `client`')
  return new OpenAI() as unknown as OpenAIClient
}
