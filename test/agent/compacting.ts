import type { Agent, AgentTool } from 'hookspan/agent'
import { usage } from '../support/scripted-client.ts'

const long = 'lorem ipsum dolor sit amet '.repeat(40)
export const look: AgentTool = { name: 'look', description: 'Looks.', execute: ({ at }) => `${at}: ${long}` }

/** An agent whose conversation is compacted after its second look. */
export function compacting(api: 'chat' | 'responses', compaction: Partial<Agent['compaction']> = {}): Agent {
  return {
    name: 'a',
    model: 'gpt-4o',
    instructions: 'Look around.',
    tools: [look],
    api,
    compaction: { thresholdTokens: 600, keepMessages: 2, ...compaction },
  }
}

/** A turn that looks at these places. */
export const looks = (...at: string[]) => ({
  toolCalls: at.map((place) => ({ id: `look-${place}`, name: 'look', arguments: { at: place } })),
  usage,
})
