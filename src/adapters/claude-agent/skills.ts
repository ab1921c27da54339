import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { currentPlace } from '../../dispatcher/run/current.ts'
import { concerns, decidesAt } from '../../gates/gate.ts'
import { HookspanError } from '../../internal/errors.ts'
import { asName, asObject, type Loose } from '../../wire/reading.ts'
import { findInstalled, isWithin, ownVersionOf } from '../peer-range.ts'
import type { ClaudeRun } from './claude-run.ts'
import { namedIn } from './named-in.ts'
import type { ClaudeOptions, HookOutput } from './sdk.ts'
import type { SubAgents } from './sub-agents.ts'

const SDK = '@anthropic-ai/claude-agent-sdk'
/** Versions whose Claude Code asks hooks of a command that stands in the text of a skill. */
const ASKING = '>=0.3.332 <1'
/** The same by Claude Code's own numbers. */
const ASKING_ITSELF = '>=2.1.332 <3'
const SHELLS = ['Bash', 'PowerShell']
const UNTOLD = 'hookspan: a gate decides on what this command gives, and Claude Code tells nobody of that'
const UNCHANGED = 'hookspan: a gate changed this command, and Claude Code runs it as it is or not at all'

/**
 * Skills and slash commands have shell commands in their text (a `!` and a command in backticks), which Claude Code runs when it
 * loads them. Older versions ask nobody of these: where a gate decides on shells they leave them out.
 */
export function withoutUnasked(run: ClaudeRun, options: ClaudeOptions): Pick<ClaudeOptions, 'settings'> {
  if (!holdsOnShells(run)) return {}
  run.reliesOnSkillHooks = asksOfSkills(options)
  if (run.reliesOnSkillHooks) return {}
  return { settings: { ...settingsOf(options), disableSkillShellExecution: true } }
}

/** A Claude Code was taken for one that asks, and has said that it is older. */
let olderRan = false

/** Of another program than the SDK's own nobody knows the version. Of two copies of the SDK, nobody knows whose `query` it is. */
function asksOfSkills({ pathToClaudeCodeExecutable: path, spawnClaudeCodeProcess: spawn }: ClaudeOptions) {
  if (path !== undefined || spawn !== undefined || olderRan) return false
  const version = ownVersionOf(SDK)
  const versions = [version, programsVersion() ?? version]
  return versions.every((one) => one !== undefined && isWithin(one, ASKING))
}

/**
 * Claude Code says which it is once it runs: too late to leave the commands out.
 *
 * @throws HookspanError `NOT_CAPABLE` where it is one that asks nobody, and was taken for another.
 */
export function assertAsking(run: ClaudeRun, version: string | undefined): void {
  if (!run.reliesOnSkillHooks || version === undefined || isWithin(version, ASKING_ITSELF)) return
  olderRan = true
  run.isUnguarded = true
  throw new HookspanError(
    'NOT_CAPABLE',
    `A gate decides on shells, and Claude Code ${version} runs the commands in the text of skills unasked: its SDK is another ` +
      `copy than the one beside hookspan, ${ownVersionOf(SDK)}. Install one version of ${SDK}. ` +
      'From the next run of this process on these commands are left out.',
  )
}

/** Of the copy that the program which runs would load. */
function programsVersion(): string | undefined {
  try {
    const [, program] = process.argv
    return program === undefined ? undefined : findInstalled(SDK, program)?.version
  } catch {
    return undefined
  }
}

function holdsOnShells(run: ClaudeRun): boolean {
  const gates = run.run.run(() => currentPlace()?.core.allGates()) ?? []
  const calls = SHELLS.map(namedIn)
  return gates.some(
    (gate) =>
      gate.shadow !== true &&
      (decidesAt(gate, 'beforeToolCall') || decidesAt(gate, 'afterToolCall')) &&
      calls.some((call) => concerns(gate, call)),
  )
}

/** An object, JSON, or the path of a file. */
function settingsOf({ settings, cwd = process.cwd() }: ClaudeOptions): Loose | undefined {
  if (typeof settings !== 'string') return settings
  const text = settings.trim()
  return asObject(JSON.parse(text.startsWith('{') ? text : readFileSync(resolve(cwd, settings), 'utf8')))
}

/** A command in the text of a skill. What it gives goes into that text, and nobody is told. */
export async function beforeSkillCommand(subAgents: SubAgents, input: Loose): Promise<HookOutput> {
  const args = input.tool_input
  const lane = await subAgents.laneOf(asName(input.agent_id))
  const calls = await lane.calls
  const call = calls.openToolCall<unknown, unknown>({
    toolCallId: asName(input.tool_use_id) ?? '',
    ...namedIn(asName(input.tool_name) ?? 'Bash'),
    args,
    mockable: false,
    parkable: false,
  })
  const decision = await call.decided
  if (decision.state === 'skipped' || decision.state === 'mocked') return refused('it is answered for')
  if (decision.state !== 'run') return refused(decision.toToolMessage().content)
  const changed = JSON.stringify(decision.args) !== JSON.stringify(args)
  const reason = changed ? UNCHANGED : call.gated ? UNTOLD : undefined
  if (reason !== undefined) {
    await call.refuse({ reason })
    return refused(reason)
  }
  await call.settle(undefined)
  return {}
}

const refused = (permissionDecisionReason: string) => ({
  hookSpecificOutput: {
    hookEventName: 'PreSkillShellCommand',
    permissionDecision: 'deny',
    permissionDecisionReason,
  },
})
