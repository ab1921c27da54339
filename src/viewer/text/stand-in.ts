/** The agent of a test whose own is not named, written from what the trace tells. */
import { canonicalJson } from '../../internal/json.ts'
import { literal, quoted } from './literals.ts'
import type { ReadToolCall } from './read-call.ts'
import type { ReadAgent, ReadRun } from './read-run.ts'

/** An agent that does what the trace tells: its tools are for the mocks, and never run. */
export function standIn(
  { agent, calls }: ReadRun,
  denied: readonly ReadToolCall[],
  used: Set<string>,
): string[] {
  used.add('Agent')
  if (denied.length > 0) {
    used.add('deny')
    used.add('isDeepStrictEqual')
  }
  const asked = calls.filter(({ human }) => human !== undefined)
  const lists: string[] = []
  const gates = [...Map.groupBy(denied, keyOf)].map(([key, [first]]) => {
    const { name, args, gate } = first!
    const answers = calls
      .filter((call) => keyOf(call) === key)
      .map((call) => (denied.includes(call) ? denial(call) : 'undefined'))
    const answer = inTurn('decisions', answers, lists)
    const isIt = `apiName === ${quoted(name)} && isDeepStrictEqual(payload, ${literal(args ?? {})})`
    return `{ id: ${quoted(gate?.id ?? 'recorded')}, point: 'beforeToolCall', decide: ({ apiName, payload }) => (${isIt} ? ${answer} : undefined) }`
  })
  const written = agentLiteral(agent, { asked, calls, gates, lists, used })
  return [...lists, `const agent: Agent = ${written}`]
}

const keyOf = ({ name, args }: ReadToolCall) => `${name} ${canonicalJson(args ?? {})}`

function denial({ gate, ends }: ReadToolCall): string {
  const how = literal({ ...(gate?.code && { code: gate.code }), ...(ends && { stop: true }) })
  return `deny(${quoted(gate?.reason ?? 'denied')}, ${how})`
}

/** What is said each time; where that is not the same, a list that is declared before the agent is gone through. */
function inTurn(what: string, answers: readonly string[], lists: string[]): string {
  if (answers.every((answer) => answer === answers[0])) return answers[0] ?? 'undefined'
  const name = lists.length === 0 ? what : `${what}${lists.length + 1}`
  lists.push(`const ${name} = [${answers.join(', ')}]`)
  return `${name}.shift()`
}

interface StandIn {
  asked: readonly ReadToolCall[]
  calls: readonly ReadToolCall[]
  gates: readonly string[]
  /** Declared before the agent. */
  lists: string[]
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

function approvalOf(tool: string, { asked, calls, lists, used }: StandIn): string {
  const some = asked.filter(({ name }) => name === tool)
  if (some.length === 0) return ''
  const isLate = some.some(({ human }) => human !== undefined && !ANSWERS.has(human.action))
  const limit = isLate ? `approval: { timeoutMs: ${EXPIRES_MS} }, ` : ''
  const all = calls.filter(({ name, gate }) => name === tool && gate === undefined)
  if (some.length === all.length) return `needsApproval: true, ${limit}`
  const wanted = ({ asked, args }: ReadToolCall) => asked || args
  const keys = new Set(some.map((call) => canonicalJson(wanted(call))))
  // Of equal calls some were asked about: that a person wanted to be asked no more is not told.
  if (all.some((call) => !some.includes(call) && keys.has(canonicalJson(wanted(call))))) {
    const answer = inTurn(
      'asks',
      all.map((call) => `${some.includes(call)}`),
      lists,
    )
    return `needsApproval: () => ${answer} ?? false, ${limit}`
  }
  used.add('isDeepStrictEqual')
  return `needsApproval: (args) => ${literal(some.map(wanted))}.some((one) => isDeepStrictEqual(one, args)), ${limit}`
}
