import { asName, type Loose } from '../../wire/reading.ts'
import { type AnnouncedCall, type ClaudeRun, refuse } from './claude-run.ts'
import { namedIn } from './named-in.ts'
import type { CanUseTool } from './sdk.ts'
import type { SubAgents } from './sub-agents.ts'

/** A call that somebody is to permit. */
interface Asked {
  readonly toolName: string
  readonly input: unknown
  readonly id: string
  /** Of an agent that Claude Code has called. */
  readonly agentId: string | undefined
}

interface Told {
  readonly announced: AnnouncedCall | undefined
  answered(answer: Loose): void
  failed(error: unknown): void
}

/** Tells of whom the user lets permit a call as of the human who is asked. */
export async function tellPermission(run: ClaudeRun, subAgents: SubAgents, asked: Asked): Promise<Told> {
  const { toolName, input, id, agentId } = asked
  const { apiName, identifier } = namedIn(toolName)
  const announced = run.find(id, input)
  const lane = await subAgents.laneOf(agentId)
  const calls = await lane.calls
  const human = calls.openHumanIntervention({
    pendingTools: [{ identifier, apiName, args: input, toolCallId: id }],
  })
  return {
    announced,
    answered(answer) {
      const { updatedInput, interrupt } = answer
      const allowed = answer.behavior === 'allow'
      const reason = asName(answer.message)
      const changed = updatedInput !== undefined && JSON.stringify(updatedInput) !== JSON.stringify(input)
      human.answered({
        action: allowed ? (changed ? 'edit' : 'approve') : 'rejectAndContinue',
        ...(!allowed && reason !== undefined && { reason }),
      })
      if (allowed && changed && announced !== undefined) announced.edited = updatedInput
      if (!allowed && interrupt === true) run.isInterrupted = true
      // It is not at work, whatever is interrupted.
      if (!allowed && announced !== undefined) announced.isAsked = true
    },
    failed: (error) => human.answered({ action: 'rejectAndContinue', error }),
  }
}

/** The user's own function. What it refuses is rejected. */
export function withPermission(
  run: ClaudeRun,
  subAgents: SubAgents,
  own: CanUseTool | undefined,
): CanUseTool | undefined {
  if (own === undefined) return undefined
  return async (toolName, input, context) => {
    const { toolUseID: id = '' } = context
    const asked = { toolName, input, id, agentId: asName(context.agentID) }
    const { announced, ...told } = await tellPermission(run, subAgents, asked)
    try {
      if (announced !== undefined) announced.isAsked = true
      const answer = await own(toolName, input, context)
      if (announced !== undefined) announced.isAsked = false
      told.answered(answer)
      if (answer.behavior !== 'allow' && announced !== undefined) {
        run.forget(id, announced)
        const reason = asName(answer.message) ?? 'not permitted'
        await refuse(announced, { kind: 'reject', code: 'rejected', reason })
      }
      return answer
    } catch (error) {
      told.failed(error)
      throw error
    }
  }
}
