import type { Agent, AgentTool } from 'hookspan/agent'
import { statelessModel } from './stateless-model.ts'

/**
 * Pays twice, looks once, and has a sub-agent write a note, at once; then pays again; then says what it was told.
 *
 * @param act What each tool does, and under which key.
 */
export function shopAgent(act: (name: string, key: string) => void | Promise<void>) {
  const tool = (name: string, more: Partial<AgentTool> = {}): AgentTool => ({
    name,
    execute: async (_args, { idempotencyKey }) => {
      await act(name, idempotencyKey)
      return `${name} done`
    },
    ...more,
  })
  const agent: Agent = {
    name: 'shop',
    model: 'stateless',
    tools: [tool('pay'), tool('look', { idempotent: true })],
    subAgents: [{ name: 'researcher', model: 'stateless', tools: [tool('note')] }],
  }
  const call = (id: string, name: string, args: unknown = {}) => ({ id, name, args })
  const client = statelessModel((messages) => {
    const told = messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content))
    if (messages.some(({ content }) => content === 'write it down')) {
      return told.length > 0 ? { content: `noted: ${told}` } : { calls: [call('n', 'note')] }
    }
    if (told.length === 0) {
      const research = call('r', 'researcher', { instruction: 'write it down' })
      return { calls: [call('p1', 'pay'), call('p2', 'pay'), call('l', 'look'), research] }
    }
    return told.length === 4 ? { calls: [call('p3', 'pay')] } : { content: told.join(' | ') }
  })
  return { agent, client, priceOf: () => 0 }
}
