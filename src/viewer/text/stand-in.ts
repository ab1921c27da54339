/** The agent of a test whose own is not named, written from what the trace tells. */
import { literal, quoted } from './literals.ts'
import type { ReadAgent, ReadRun, ReadToolCall } from './read-run.ts'

/** An agent that does what the trace tells: its tools are for the mocks, and never run. */
export function standIn(
  { agent, calls }: ReadRun,
  denied: readonly ReadToolCall[],
  reason: string,
  used: Set<string>,
): string[] {
  used.add('Agent')
  if (denied.length > 0) {
    used.add('deny')
    used.add('isDeepStrictEqual')
  }
  const asked = calls.filter(({ human }) => human !== undefined)
  // A run that was denied was ended by the last refusal, where that was a gate's.
  const isEnded = reason === 'denied' && calls.at(-1) === denied.at(-1)
  const gates = denied.map(({ name, args, gate }, index) => {
    const stop = isEnded && index === denied.length - 1
    const how = literal({ ...(gate?.code && { code: gate.code }), ...(stop && { stop }) })
    const isIt = `apiName === ${quoted(name)} && isDeepStrictEqual(payload, ${literal(args ?? {})})`
    return `{ id: ${quoted(gate?.id ?? 'recorded')}, point: 'beforeToolCall', decide: ({ apiName, payload }) => (${isIt} ? deny(${quoted(gate?.reason ?? 'denied')}, ${how}) : undefined) }`
  })
  return [`const agent: Agent = ${agentLiteral(agent, { asked, calls, gates, used })}`]
}

interface StandIn {
  asked: readonly ReadToolCall[]
  calls: readonly ReadToolCall[]
  gates: readonly string[]
  used: Set<string>
}

/** What a person says. */
const ANSWERS: ReadonlySet<string> = new Set(['approve', 'edit', 'reject', 'rejectAndContinue'])
/** A question that nobody answered expires: this soon. */
const EXPIRES_MS = 50

function agentLiteral(agent: ReadAgent, made: StandIn): string {
  const { name, model, instructions } = agent
  const fields = literal({ name, model, ...(instructions && { instructions }) }).slice(1, -1)
  const tools = agent.tools.map((tool) => {
    const approval = approvalOf(tool.name, made)
    return `{ ${literal(tool).slice(1, -1).trim()}, ${approval}execute: () => Promise.reject(new Error('the real tool ran')) }`
  })
  const subAgents = agent.subAgents.map((sub) => agentLiteral(sub, { ...made, gates: [] }))
  return `{${fields}, ${[
    `tools: [${tools.join(', ')}]`,
    ...(subAgents.length > 0 ? [`subAgents: [${subAgents.join(', ')}]`] : []),
    ...(made.gates.length > 0 ? [`gates: [${gatesOnce(made.gates)}]`] : []),
  ].join(', ')} }`
}

/** Ids of gates are theirs alone. */
function gatesOnce(gates: readonly string[]): string {
  const seen = new Map<string, number>()
  return gates
    .map((gate) => {
      const [start = ''] = /^\{ id: "(?:[^"\\]|\\.)*"/.exec(gate) ?? []
      const count = (seen.get(start) ?? 0) + 1
      seen.set(start, count)
      return count === 1 ? gate : gate.replace(start, `${start.slice(0, -1)}-${count}"`)
    })
    .join(', ')
}

function approvalOf(tool: string, { asked, calls, used }: StandIn): string {
  const some = asked.filter(({ name }) => name === tool)
  if (some.length === 0) return ''
  const isLate = some.some(({ human }) => human !== undefined && !ANSWERS.has(human.action))
  const limit = isLate ? `approval: { timeoutMs: ${EXPIRES_MS} }, ` : ''
  if (some.length === calls.filter(({ name }) => name === tool).length) return `needsApproval: true, ${limit}`
  used.add('isDeepStrictEqual')
  return `needsApproval: (args) => ${literal(some.map(({ args }) => args))}.some((one) => isDeepStrictEqual(one, args)), ${limit}`
}
