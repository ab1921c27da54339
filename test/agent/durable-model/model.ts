import { statelessModel } from '../../support/stateless-model.ts'
import type { AgentPlan, CallPlan } from './plan.ts'

/** What the model was told of a call, by the name of the call. */
export type Told = readonly (readonly [name: string, content: string])[]

/** The calls of an agent, each by the name that it has in the whole run. */
export function stepsOf(id: string, { steps }: AgentPlan): { name: string; call: CallPlan }[][] {
  return steps.map((calls, step) => calls.map((call, index) => ({ name: `${id}_${step}_${index}`, call })))
}

/** The agent that a call is of: its name is that of its tool. */
export function agentName(name: string, { shared }: { readonly shared?: boolean }): string {
  return shared ? 'shared' : `agent_${name}`
}

const SUMMARY = 'told so far: '

/** Says what the plan of its agent says, out of the conversation alone; the last word is what it was told. */
export function modelOf(plans: ReadonlyMap<string, AgentPlan>, moment: (what: string) => Promise<void>) {
  const answer = statelessModel((messages) => {
    const [first, second] = messages
    // The instructions of an agent, or what one is asked that has none of its own.
    const id = String((first?.content === 'shared' ? second : first)?.content)
    const plan = plans.get(id)
    // Who summarises is asked about a conversation that is written as one text.
    if (plan === undefined) return { content: SUMMARY + JSON.stringify(toldIn(String(messages[1]?.content))) }
    const told = messages.flatMap(({ role, content, ...rest }) => {
      if (role === 'tool')
        return [[(rest as { tool_call_id: string }).tool_call_id, String(content)] as const]
      return toldIn(String(content))
    })
    const calls = stepsOf(id, plan).find((step) =>
      step.some(({ name }) => !told.some(([known]) => known === name)),
    )
    if (calls === undefined) return { content: JSON.stringify(told) }
    return {
      calls: calls.map(({ name, call }) =>
        call.kind === 'agent'
          ? { id: name, name: agentName(name, call), args: { instruction: name } }
          : { id: name, name: call.kind, args: { call: name } },
      ),
    }
  })
  const create = async (body: never, options?: never) => {
    await moment('before a reply')
    const reply = await answer.chat.completions.create(body, options)
    await moment('after a reply')
    return reply
  }
  return { baseURL: answer.baseURL, chat: { completions: { create } } }
}

function toldIn(text: string): Told {
  return text.split('\n\n').flatMap((part): Told => {
    if (part.startsWith(SUMMARY)) return JSON.parse(part.slice(SUMMARY.length))
    const [, content, id] = /^tool: (.*) \{"tool_call_id":"([^"]*)"\}$/.exec(part) ?? []
    return id === undefined ? [] : [[id, content as string]]
  })
}
