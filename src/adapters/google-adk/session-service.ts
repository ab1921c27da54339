import { isLocked, replace } from '../replace.ts'
import type { AdkSessionService } from './adk.ts'
import type { AgentRun } from './agent-run.ts'

/** The runs under way of each session service, by the SDK's ids: many runners may share one. */
const watched = new WeakMap<object, { readonly runs: Map<string, AgentRun>; readonly undo: () => void }>()

/** A runner whose sessions cannot be written throws, and tells no plugin that the run is over. */
export function watchSessions(
  service: AdkSessionService | undefined,
  invocationId: string,
  agent: AgentRun,
): void {
  if (service?.appendEvent === undefined || isLocked(service, 'appendEvent')) return
  const { runs, undo } = watched.get(service) ?? watch(service)
  runs.set(invocationId, agent)
  const forget = () => {
    runs.delete(invocationId)
    if (runs.size > 0 || watched.get(service)?.runs !== runs) return
    undo()
    watched.delete(service)
  }
  agent.run.parked.then(forget, forget)
}

function watch(service: AdkSessionService) {
  const runs = new Map<string, AgentRun>()
  const { appendEvent } = service
  const undo = replace(service, 'appendEvent', async (asked) => {
    try {
      return await appendEvent.call(service, asked)
    } catch (error) {
      await runs.get(String(asked?.event?.invocationId))?.unwritten(error)
      throw error
    }
  })
  const entry = { runs, undo }
  watched.set(service, entry)
  return entry
}
