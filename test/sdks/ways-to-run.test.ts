import { expect, it } from 'vitest'
import { surfaceOf } from '../support/sdk-surface.ts'
import type { Untyped } from './support/sdks.ts'

const load = (name: string): Promise<Untyped> => import(name)
const [claude, copilot, mastra, strands, adk] = await Promise.all([
  load('@anthropic-ai/claude-agent-sdk'),
  load('@github/copilot-sdk'),
  load('@mastra/core/agent'),
  load('@strands-agents/sdk'),
  load('@google/adk'),
])

it('of the SDKs are those that were looked at: each is observed, or its page says that it is not (`vitest -u` writes the list)', async () => {
  const named = (sdk: Untyped, of: RegExp) =>
    Object.fromEntries(
      Object.keys(sdk)
        .filter((name) => of.test(name))
        .map((name) => [name, () => {}]),
    )
  const surface = surfaceOf({
    claude,
    // What a newer Claude Code asks hooks of may be a new way by which something runs.
    'claude, HOOK_EVENTS': Object.fromEntries(claude.HOOK_EVENTS.map((name: string) => [name, () => {}])),
    'copilot, CopilotClient': copilot.CopilotClient,
    'copilot, CopilotSession': copilot.CopilotSession,
    'mastra, Agent': mastra.Agent,
    'strands, Agent': strands.Agent,
    'strands, all': named(strands, /Agent|Graph|Swarm|Executor/),
    'adk, Runner': adk.Runner,
    'adk, all': named(adk, /Agent|Node|Workflow|Runner|Executor/),
  })

  await expect(surface).toMatchFileSnapshot('ways-to-run.txt')
})
