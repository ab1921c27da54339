import { saidOf } from '../../dispatcher/calls/tool-outcome.ts'
import { errorMessage } from '../../internal/errors.ts'
import { asName, asObject, type Loose } from '../../wire/reading.ts'
import { type ClaudeRun, interrupted, Permission } from './claude-run.ts'
import { namedIn } from './named-in.ts'
import { ownHooks } from './own-hooks.ts'
import { inShapeOf } from './results.ts'
import type { ClaudeOptions, HookCallback, HookMatcher, HookOutput } from './sdk.ts'
import { schemasOf } from './servers.ts'
import { beforeSkillCommand } from './skills.ts'
import type { SubAgents } from './sub-agents.ts'

/** In seconds: a human may be waited for. */
const FOREVER = 7 * 24 * 3600

/** A gate or a human said that the run is to end, or that of the agent in which this is. */
const STOPPED = { continue: false, stopReason: 'hookspan ended the run' }
const UNTOLD = 'hookspan ended the run: a gate changed a result that Claude Code tells its model as it is'

/** The user's hooks, and behind them ours. Claude Code asks all at once. */
export function withHooks(
  run: ClaudeRun,
  subAgents: SubAgents,
  own: ClaudeOptions['hooks'] = {},
): ClaudeOptions['hooks'] {
  const theirs = ownHooks(run, subAgents, own)
  const ours: Readonly<Record<string, HookCallback>> = {
    PreToolUse: (input, _id, context) => before(run, subAgents, input, context?.signal),
    PreSkillShellCommand: (input) => beforeSkillCommand(subAgents, input),
    PostToolUse: (input) =>
      run.results.decided(asName(input.tool_use_id) ?? '', after(run, subAgents, input)),
    PostToolUseFailure: (input) => failed(run, input),
  }
  const matchers = Object.entries(ours).map(([name, decide]) => {
    const hook: HookCallback = async (input, ...more) => {
      run.asksHooks = true
      const output = await decide(input, ...more)
      const isStopped = run.run.isStopped || subAgents.isStopped(asName(input.agent_id))
      return isStopped ? { ...STOPPED, ...output } : output
    }
    const guards = name.startsWith('Pre')
    const matcher: HookMatcher = {
      timeout: FOREVER,
      onFailure: guards ? 'block' : 'continue',
      hooks: [guards ? hook : quiet(hook)],
    }
    return [name, [...(theirs[name] ?? []), matcher]]
  })
  const heard: HookCallback = async () => {
    run.asksHooks = true
    return {}
  }
  const UserPromptSubmit = [...(theirs.UserPromptSubmit ?? []), { hooks: [heard] }]
  return { ...theirs, UserPromptSubmit, ...Object.fromEntries(matchers) }
}

/** What is only told changes nothing when it fails. */
function quiet(hook: HookCallback): HookCallback {
  return async (...args) => hook(...args).catch(() => ({}))
}

async function before(
  run: ClaudeRun,
  subAgents: SubAgents,
  input: Loose,
  signal: AbortSignal | undefined,
): Promise<HookOutput> {
  const id = asName(input.tool_use_id) ?? ''
  const args = input.tool_input
  const toolName = asName(input.tool_name) ?? 'unnamed'
  const lane = await subAgents.laneOf(asName(input.agent_id))
  await lane.askedFor(id)
  const calls = await lane.calls
  const named = namedIn(toolName)
  const server = named.source === 'mcp' ? run.servers.get(named.identifier) : undefined
  const mockable = server !== undefined
  const permission = mockable ? new Permission() : undefined
  const permit = permission && { permit: permission.ask }
  const schemas = schemasOf(server, named.apiName)
  const init = { toolCallId: id, ...named, args, mockable, ...schemas, ...permit }
  const call = calls.openToolCall<unknown, unknown>(init)
  const [left, stop] = whenLeft(signal)
  const decided = Promise.race([call.decided, ...(permission ? [permission.asked] : [])])
  const decision = await Promise.race([decided, left]).finally(stop)
  if (decision === undefined) {
    // An abort of the run tells of itself.
    if (!run.run.signal?.aborted) await call.fail(interrupted())
    return {}
  }
  const output = (more: Loose) => ({ hookSpecificOutput: { hookEventName: 'PreToolUse', ...more } })
  if (decision.state === 'waiting') {
    run.run.waitingFor = 'human'
    return output({ permissionDecision: 'defer' })
  }
  if (decision.state === 'denied' || decision.state === 'rejected')
    return output(refusal(decision.toToolMessage().content))
  // Nobody answers for it, and it would run where no mock fits.
  if (decision.state === 'errored' && !mockable) return output(refusal(errorMessage(decision.error)))
  const announce = (effective: unknown) =>
    run.announce(id, { call, decision, args: effective, ...(permission && { permission }) })
  if (decision.state !== 'run') {
    announce(args)
    // Whoever else is to permit the call is not asked about what a gate has answered.
    return output({ permissionDecision: 'allow' })
  }
  const asked = asObject(decision.args) ?? {}
  const called = await subAgents.called(toolName, id, asked)
  if (called !== undefined && 'refused' in called) {
    await call.refuse({ reason: called.refused })
    return output(refusal(called.refused))
  }
  const isOther = called !== undefined && called.instruction !== (asked.prompt ?? '')
  const runs = isOther ? { ...asked, prompt: called.instruction } : decision.args
  announce(runs)
  const changed = JSON.stringify(runs) !== JSON.stringify(args)
  // Whoever else is to permit the call is asked as without us.
  return changed ? output({ updatedInput: runs }) : {}
}

/** Claude Code, which is interrupted, waits for no answer any more. */
function whenLeft(signal: AbortSignal | undefined): [left: Promise<undefined>, stop: () => void] {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const leave = () => resolve(undefined)
  signal?.addEventListener('abort', leave, { once: true })
  return [promise, () => signal?.removeEventListener('abort', leave)]
}

const refusal = (reason: string) => ({ permissionDecision: 'deny', permissionDecisionReason: reason })

async function after(run: ClaudeRun, subAgents: SubAgents, input: Loose): Promise<HookOutput> {
  const id = asName(input.tool_use_id) ?? ''
  const announced = run.find(id, input.tool_input)
  if (announced === undefined) return {}
  run.forget(id, announced)
  if (announced.served || announced.decision.state !== 'run') return {}
  const result = input.tool_response
  const toolName = asName(input.tool_name) ?? ''
  const said = await subAgents.outcomeOf(id, result)
  const given = said === undefined ? result : inShapeOf(toolName, result, said.content ?? '')
  const outcome = await (said?.refusal ? announced.call.refuse(said.refusal) : announced.call.settle(given))
  const changed = saidOf(outcome)
  if (changed === result) return {}
  const told = inShapeOf(toolName, result, changed)
  // Nothing else keeps the result from the model.
  if (told === undefined) return { continue: false, stopReason: UNTOLD }
  return { hookSpecificOutput: { hookEventName: 'PostToolUse', updatedToolOutput: told } }
}

async function failed(run: ClaudeRun, input: Loose): Promise<HookOutput> {
  const id = asName(input.tool_use_id) ?? ''
  const announced = run.find(id, input.tool_input)
  if (announced === undefined) return {}
  run.forget(id, announced)
  if (!announced.served && announced.decision.state === 'run') {
    await announced.call.fail(new Error(asName(input.error) ?? 'the tool failed'))
  }
  return {}
}
