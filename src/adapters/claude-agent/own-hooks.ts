import { asName, asObject, type Loose } from '../../wire/reading.ts'
import { warnOnce } from '../warn-once.ts'
import type { ClaudeRun } from './claude-run.ts'
import { tellPermission } from './permission.ts'
import type { ClaudeOptions, HookCallback, HookMatcher, HookOutput } from './sdk.ts'
import type { SubAgents } from './sub-agents.ts'

type Hooks = NonNullable<ClaudeOptions['hooks']>
type Own = (hook: HookCallback) => HookCallback

/** The user's hooks, which Claude Code asks at once with ours: what one makes of a call is to fit what gates decide on it. */
export function ownHooks(run: ClaudeRun, subAgents: SubAgents, own: Hooks): Hooks {
  const around: Readonly<Record<string, Own>> = {
    PreToolUse: (hook) => withoutEdits(run, hook),
    PostToolUse: (hook) => withoutOutput(run, hook),
    PermissionRequest: (hook) => asPermission(run, subAgents, hook),
  }
  const matchers = Object.entries(own).map(([name, theirs]) => {
    const wrap = around[name]
    return [name, wrap === undefined ? theirs : theirs?.map((one) => wrapped(one, wrap))] as const
  })
  return Object.fromEntries(matchers)
}

const wrapped = (matcher: HookMatcher, wrap: Own): HookMatcher => ({
  ...matcher,
  hooks: matcher.hooks.map(wrap),
})

const saysOf = (output: HookOutput | undefined): Loose => asObject(output?.hookSpecificOutput) ?? {}

/** Gates see the arguments as the model wrote them. What a hook beside ours makes of these would run undecided. */
function withoutEdits(run: ClaudeRun, hook: HookCallback): HookCallback {
  return async (input, ...more) => {
    const output = await hook(input, ...more)
    const { updatedInput, ...others } = saysOf(output)
    if (updatedInput === undefined || !run.isDecidedOn) return output
    warnOnce(
      `hookspan: a PreToolUse hook changes the arguments of ${String(input.tool_name)}, and gates decide on these as they ` +
        'were: what was decided on runs. Change them in a gate or in canUseTool.',
    )
    return { ...output, hookSpecificOutput: others }
  }
}

/** Of two hooks that change a result Claude Code takes the one that answers last, and a gate has the last word. */
function withoutOutput(run: ClaudeRun, hook: HookCallback): HookCallback {
  return async (input, ...more) => {
    const output = await hook(input, ...more)
    const { updatedToolOutput: made, updatedMCPToolOutput: served, ...others } = saysOf(output)
    if (made === undefined && served === undefined) return output
    if (!(await run.results.isChanged(asName(input.tool_use_id) ?? ''))) return output
    warnOnce(
      `hookspan: a PostToolUse hook changes the result of ${String(input.tool_name)}, which a gate has changed: the model is told ` +
        'what the gate made of it.',
    )
    return { ...output, hookSpecificOutput: others }
  }
}

/** It answers as `canUseTool` does. */
function asPermission(run: ClaudeRun, subAgents: SubAgents, hook: HookCallback): HookCallback {
  return async (input, id, context) => {
    const output = await hook(input, id, context)
    const answer = asObject(saysOf(output).decision)
    if (answer === undefined) return output
    const toolName = asName(input.tool_name) ?? ''
    const asked = { toolName, input: input.tool_input, id: id ?? '', agentId: asName(input.agent_id) }
    const told = await tellPermission(run, subAgents, asked).catch(() => undefined)
    told?.answered(answer)
    return output
  }
}
