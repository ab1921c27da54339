import { coreOf } from '../dispatcher/calls/call-maker.ts'
import { HookDispatcher, type Operation, type ParkedOperation, type PriceOf } from '../dispatcher/index.ts'
import { assertOperationId, newOperationId } from '../dispatcher/run/operation-init.ts'
import type { Approver } from '../gates/index.ts'
import type { CompletionReason } from '../hooks/index.ts'
import { callBeside } from '../internal/async.ts'
import { errorMessage } from '../internal/errors.ts'
import { safeStringify } from '../internal/json.ts'
import { defined } from '../internal/objects.ts'
import { requirePeer } from '../internal/require-peer.ts'
import { sha256 } from '../internal/sha256.ts'
import { type NamedRun, noteSubAgents } from '../internal/sub-agent-runs.ts'
import { modelServer } from '../wire/model-server.ts'
import { type ModelAccess, modelApi } from './call-model.ts'
import type { RunCheckpoint } from './checkpoint/run-checkpoint.ts'
import { RunLog } from './checkpoint/run-log.ts'
import { storeOf } from './checkpoint/unfinished.ts'
import { Compactor } from './compaction.ts'
import { admitInput, takeOutcome } from './effective.ts'
import { type LoopParts, runLoop } from './loop.ts'
import type { ModelApi } from './model-api.ts'
import { assertPriced, installedPrices } from './prices.ts'
import type { LoopState, SavedRun } from './run-state.ts'
import { runTools } from './run-tools.ts'
import { saveRun } from './save-run.ts'
import { Spending } from './spending.ts'
import { endLeft, subAgentTool } from './sub-agents.ts'
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
  const shared = sharedOf(options)
  const store = storeOf(options.checkpoint)
  if (store === undefined) return runAgent(shared, options, {})
  const { operationId = newOperationId() } = options
  assertOperationId(operationId)
  const log = await RunLog.begin(store, operationId)
  log.asksHumans = asksHumans(options, shared)
  return log.hold((checkpoint) => runAgent(shared, { ...options, operationId }, { checkpoint }))
}

/** Whether there is anybody who could be asked about a call. */
export function asksHumans(options: ExecAgentOptions, { dispatcher }: Shared): boolean {
  return (approverOf(options) ?? dispatcher.approver) !== undefined
}

/** What a run and its sub-agents have in common. */
export interface Shared {
  readonly dispatcher: HookDispatcher
  readonly client: OpenAIClient
  readonly prices: PriceOf | undefined
  readonly onText: ExecAgentOptions['onText']
}

/** What an execution needs, with what the options leave open. */
export function sharedOf(options: ExecAgentOptions): Shared {
  const dispatcher = options.dispatcher ?? new HookDispatcher()
  return {
    dispatcher,
    client: options.client ?? newClient(),
    prices: options.priceOf ?? dispatcher.priceOf ?? installedPrices(),
    onText: options.onText,
  }
}

export interface RunContext {
  readonly callerSpending?: Spending
  /** The run that this one continues. */
  readonly saved?: SavedRun | undefined
  /** Where it is saved. */
  readonly checkpoint?: RunCheckpoint | undefined
}

/** Sub-agents whose results are known of a run's: each holds a conversation, for as long as the run is at work. */
const MOST_KNOWN = 100

/** Runs an agent, from its beginning or from where it was parked. */
export async function runAgent(
  shared: Shared,
  options: ExecAgentOptions,
  { callerSpending, saved, checkpoint }: RunContext,
): Promise<AgentRun> {
  const { agent, prompt, messages = [] } = options
  const { dispatcher, client, prices } = shared
  const api = modelApi(agent)
  const known = modelServer(client.baseURL)
  const server = { ...known, provider: agent.provider ?? known.provider }
  assertPriced(agent, server.provider, prices)
  const limits = { agentName: agent.name, prices, maxCostUsd: agent.maxCostUsd, parent: callerSpending }
  const spending = new Spending(limits, saved?.spending)
  const children: Record<string, SavedRun> = {}
  const left = new Map(Object.entries(saved?.children ?? {}).map(([key, child]) => [child, key]))
  /** Those that were parked in this process: what ends them. */
  const waiting = new Map<string, () => Promise<unknown>>()
  const below: NamedRun[] = []
  /** An abort ends their call at once, and them a moment later. */
  const running = new Map<string, Promise<unknown>>()
  const subAgents = (agent.subAgents ?? []).map((subAgent) =>
    subAgentTool(subAgent, async (child, instruction, parent, { toolCallId, idempotencyKey: key }) => {
      // Those that were parked by an older hookspan have the other name.
      const before = saved?.children[key] ?? saved?.children[`${child.name}/${toolCallId}`]
      if (before !== undefined) left.delete(before)
      const context = { callerSpending: spending, saved: before, checkpoint: checkpoint?.child(key) }
      // Where its beginning is not kept, it is begun anew: as the run that its hooks know.
      const id = checkpoint && before === undefined && { operationId: childIdOf(op, key) }
      // One that waited while the run was stopped is to end, too.
      const over = before !== undefined && op.stopRequested && { signal: AbortSignal.abort() }
      const begun = runAgent(shared, { agent: child, prompt: instruction, parent, ...id, ...over }, context)
      const runs = begun.then((run) => {
        if (below.length < MOST_KNOWN) below.push({ agentName: child.name, run })
        if (run.state === undefined) return run
        children[key] = run.state
        const ended = { agent: child, prompt: '', parent, signal: AbortSignal.abort() }
        waiting.set(key, () => runAgent(shared, ended, { ...context, saved: run.state }))
        return run
      })
      running.set(key, runs)
      return await runs.finally(() => running.delete(key))
    }),
  )
  const toolbox = new Toolbox(
    [...(agent.tools ?? []), ...subAgents],
    agent.maxToolResultBytes ?? DEFAULT_MAX_RESULT_BYTES,
  )
  const state: LoopState = saved ? { ...saved.loop } : begin(api.open(agent, messages, prompt))
  let callIds = saved?.callIds ?? 0
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
  const op = start(dispatcher, options, spending, toolbox, saved)
  const toolNames = access.tools.map(({ name }) => name)
  const save = (operation: ParkedOperation) => {
    const parts = { state, spending, children, callIds, toolNames, kept: checkpoint !== undefined }
    return saveRun(operation, options, saved, parts)
  }
  checkpoint?.follow(op, save, saved)
  const endSaved = async (which: Iterable<readonly [SavedRun, string]>) => {
    await endLeft(op, saved?.operation.waiting ?? [], which, async (child, key, parent) => {
      const subAgent = agent.subAgents?.find(({ name }) => name === child.agentName)
      if (subAgent === undefined) return
      const ended = { agent: subAgent, prompt: '', parent, signal: AbortSignal.abort() }
      const context = { callerSpending: spending, saved: child, checkpoint: checkpoint?.child(key) }
      await runAgent(shared, ended, context)
    })
  }
  const endChild = async (key: string) => {
    await Promise.allSettled([running.get(key)])
    const end = waiting.get(key)
    waiting.delete(key)
    await end?.()
    const which = [...left].filter(([, its]) => its === key)
    for (const [child] of which) left.delete(child)
    await endSaved(which)
  }
  const endChildren = async () => {
    await Promise.allSettled(running.values())
    for (const end of waiting.values()) await end()
    await endSaved(left)
  }
  const loop = async () => {
    // A sub-agent's run may have been saved while the gates on its input decided.
    if (saved === undefined || saved.operation.unadmitted !== undefined) {
      await admitInput(op, api, state, options)
      await checkpoint?.save()
    }
    return runLoop({ op, access, toolbox, compactor, state, checkpoint, endChild, goesOn: placeOf(saved) })
  }
  const end = await finish(op, api, state, loop, endChildren)
  const { costUsd } = spending
  const parked = end.reason === 'waiting' ? park(op, save, checkpoint) : {}
  const run: AgentRun = {
    operationId: op.operationId,
    status: statusOf(end.reason),
    ...end,
    ...parked,
    content: state.content,
    messages: state.messages,
    usage: spending.usage,
    ...defined({ costUsd }),
    steps: state.steps,
  }
  // Those of an earlier part are not known.
  const isWhole = saved === undefined || subAgents.length === 0
  const begun = coreOf(op).children
  if (isWhole && begun === 0) return run
  return noteSubAgents(run, agent.name, isWhole && below.length === begun ? below : undefined)
}

/** Of the run of a sub-agent, by the key of its call: the same in each process that begins it. */
function childIdOf(op: Operation, key: string): string {
  return `op_${sha256(JSON.stringify([coreOf(op).runKey, key])).slice(0, 32)}`
}

function placeOf(saved: SavedRun | undefined): LoopParts['goesOn'] {
  const { openStep, kept } = saved?.operation ?? {}
  if (!kept) return undefined
  return openStep === undefined ? 'between steps' : 'in step'
}

function begin(conversation: LoopState['messages']): LoopState {
  return { messages: conversation, context: conversation, content: '', pending: [], told: [], steps: 0 }
}

/** Ends this part of the run, and gives what continues it. */
function park(
  op: Operation,
  save: (operation: ParkedOperation) => SavedRun,
  checkpoint: RunCheckpoint | undefined,
): Pick<AgentRun, 'state' | 'pendingApprovals'> {
  const operation = op.park({ waitingFor: 'human' })
  checkpoint?.park(operation)
  const state = save(operation)
  return { pendingApprovals: state.pendingApprovals, state: JSON.parse(safeStringify(state)) as SavedRun }
}

function start(
  dispatcher: HookDispatcher,
  options: ExecAgentOptions,
  spending: Spending,
  toolbox: Toolbox,
  saved: SavedRun | undefined,
): Operation {
  const { agent, gates = [], prompt, messages, hooks, signal, parent, operationId } = options
  const approver = approverOf(options)
  const { disable } = options
  const { userId = saved?.userId, conversationId = saved?.conversationId, traceparent, attributes } = options
  const op: Operation = dispatcher.startOperation({
    agentName: agent.name,
    input: prompt ?? messages,
    priceOf: spending.priceOf,
    gates: [...gates, ...(agent.gates ?? []), ...toolbox.approvalGates(() => op.operationId)],
    tools: runTools(agent),
    ...defined({ instructions: agent.instructions, disable }),
    ...(hooks && { hooks: dispatcher.namedHooks.resolve(hooks) }),
    ...(approver && { approver }),
    ...(signal && { signal }),
    ...(parent && { parent }),
    ...defined({ operationId, userId, conversationId, traceparent }),
    ...(attributes && { attributes }),
    ...(saved && { resume: saved.operation }),
  })
  coreOf(op).noteCost = spending.addTold
  return op
}

/** Ends the operation the way the loop ended. */
async function finish(
  op: Operation,
  api: ModelApi,
  state: LoopState,
  loop: () => Promise<CompletionReason | 'waiting'>,
  endChildren: () => Promise<void>,
): Promise<Pick<AgentRun, 'reason' | 'error' | 'denial'>> {
  let reason: CompletionReason
  try {
    const end = await loop()
    if (end === 'waiting') return { reason: end }
    // Another process ends it, or goes on with it.
    if (op.ended) return { reason: 'interrupted' }
    await endChildren()
    reason = end
  } catch (error) {
    // Ended from outside, when the process ends: nothing is left to be told.
    if (op.ended) return { reason: 'interrupted' }
    await endChildren()
    if (!op.signal?.aborted && !op.stopRequested) {
      await op.fail(error)
      return { reason: 'error', error }
    }
    reason = op.signal?.aborted ? 'interrupted' : 'denied'
  }
  const outcome = await op.complete({ reason, content: state.content })
  takeOutcome(api, state, outcome)
  const denial = outcome.refusal ?? op.stopRequested
  if (outcome.reason !== 'denied' || denial === undefined) return { reason: outcome.reason }
  return { reason: 'denied', denial: { code: denial.code, reason: denial.reason } }
}

function statusOf(reason: AgentRun['reason']): AgentRun['status'] {
  if (reason === 'waiting') return 'waiting_for_human'
  if (reason === 'error') return 'error'
  return reason === 'interrupted' || reason === 'denied' ? 'interrupted' : 'done'
}

function tellText(
  onText: ExecAgentOptions['onText'],
  text: string,
  { op, agent, state }: { op: Operation; agent: Agent; state: LoopState },
): void {
  if (onText === undefined) return
  callBeside(
    () => onText(text, { operationId: op.operationId, agentName: agent.name, stepIndex: state.steps }),
    (error) => console.warn(`hookspan: \`onText\` threw, and the run goes on: ${errorMessage(error)}`),
  )
}

/** The run's own. */
export function approverOf({ approver }: Pick<ExecAgentOptions, 'approver'>): Approver | undefined {
  return typeof approver === 'function' ? { requestApproval: approver } : approver
}

function newClient(): OpenAIClient {
  const { OpenAI } = requirePeer<typeof import('openai')>('openai', 'execAgent without a `client`')
  return new OpenAI() as unknown as OpenAIClient
}
