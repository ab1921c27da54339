/** A vitest file of recorded runs: their tools mocked, their model scripted, their trajectory expected. */

import { HookspanError } from '../../internal/errors.ts'
import { canonicalJson } from '../../internal/json.ts'
import type { RunContent } from '../model/data-set.ts'
import { type ReadAgent, type ReadModelStep, type ReadRun, type ReadToolCall, readRun } from './read-run.ts'

export interface TestedAgent {
  /** As the test imports it. */
  specifier: string
  name: string
  /** `agent`: handed to `execAgent`; `run`: a function that is called with `{ prompt, messages, dispatcher, client }`. */
  kind: 'agent' | 'run'
}

export interface TestFile {
  text: string
  /** What whoever runs it has to see to: a sentence each. */
  notes: string[]
}

const TITLE_CHARS = 60

/** @throws HookspanError when a run lacks what a test is made of. */
export function testFile(runs: readonly RunContent[], tested?: TestedAgent): TestFile {
  const notes: string[] = []
  const used = new Set<string>()
  const titles = new Map<string, number>()
  const tests = runs.map((content) => {
    const title = titleOf(content)
    const count = (titles.get(title) ?? 0) + 1
    titles.set(title, count)
    const named = count === 1 ? title : `${title} (${count})`
    return testOf(named, content, readRun(content), { tested, used, notes })
  })
  return { text: `${[header(runs, tested), imports(used, tested), ...tests].join('\n\n')}\n`, notes }
}

function header(runs: readonly RunContent[], tested: TestedAgent | undefined): string {
  const ids = runs.map(({ summary }) => summary.traceId.slice(0, 8))
  const some = `${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ', …' : ''}`
  const stand = tested
    ? []
    : [
        '// The agents are made from what the traces tell of them. To test your own, export with --agent ./file.ts#name,',
        '// or put yours in their place.',
      ]
  return [
    `// Made by \`hookspan export --format vitest\` of ${runs.length === 1 ? 'run' : 'runs'} ${some}.`,
    ...stand,
  ].join('\n')
}

function imports(used: ReadonlySet<string>, tested: TestedAgent | undefined): string {
  const from = (module: string, ...names: string[]) => {
    const some = names.filter((name) => used.has(name.replace(/^type /, '')))
    return some.length > 0 ? [`import { ${some.join(', ')} } from '${module}'`] : []
  }
  return [
    ...from('node:util', 'isDeepStrictEqual'),
    ...from('hookspan/agent', 'type Agent', 'execAgent'),
    ...from('hookspan/gates', 'deny'),
    ...from('hookspan/mock', 'human', 'mock'),
    `import { expect, test } from 'hookspan/vitest'`,
    ...(tested ? [`import { ${tested.name} } from ${quoted(tested.specifier)}`] : []),
  ].join('\n')
}

interface Writing {
  tested: TestedAgent | undefined
  used: Set<string>
  notes: string[]
}

function testOf(title: string, { summary }: RunContent, run: ReadRun, writing: Writing): string {
  const { tested, used, notes } = writing
  const denied = run.calls.filter(({ outcome, human }) => outcome === 'denied' && human === undefined)
  if (tested === undefined && run.isCompacted)
    throw new HookspanError(
      'INVALID_OPTION',
      `Run ${summary.traceId.slice(0, 8)} compacted its context, and its trace does not tell by which rule. Name the agent: --agent ./file.ts#name.`,
    )
  if (tested !== undefined) {
    for (const call of denied)
      notes.push(
        `"${call.name}" was denied by gate "${call.gate?.id ?? 'unknown'}": have that gate in the agent, or in the test's dispatcher.`,
      )
  }
  const mocks = mocksOf(run.calls)
  const humans = humansOf(run.calls)
  const fixtures = ['dispatcher', 'mocks', ...(humans.length > 0 ? ['humans'] : []), 'model', 'trace']
  if (mocks.length > 0) used.add('mock')
  if (humans.length > 0) used.add('human')
  if (tested?.kind !== 'run') used.add('execAgent')
  const lines = [
    ...(mocks.length > 0 ? ['mocks.use(', ...mocks.map((rule) => `  ${rule},`), ')'] : ['mocks.use()']),
    ...(humans.length > 0 ? [`humans.add(${humans.join(', ')})`] : []),
    'const client = model([',
    ...run.steps.map((step) => `  ${literal(scripted(step))},`),
    '])',
    ...(tested ? [] : standIn(run.agent, run.calls, denied, used)),
    ...asking(run, tested),
    ...(tested?.kind === 'run' ? [] : [`expect(run.status).toBe(${quoted(statusOf(summary.status))})`]),
    ...trajectoryOf(run.calls),
  ]
  return `test(${quoted(title)}, async ({ ${fixtures.join(', ')} }) => {\n${lines.map((line) => `  ${line}`).join('\n')}\n})`
}

/** Of calls that were made together, none is the first. */
function trajectoryOf(calls: readonly ReadToolCall[]): string[] {
  const turns = [...new Set(calls.map(({ turn }) => turn))]
  const isOrdered = turns.length === calls.length
  const idOf = (index: number) => `${index + 1}`
  const idsOf = (turn: number | undefined) =>
    calls.flatMap((call, index) => (call.turn === turn ? [idOf(index)] : []))
  const lines = calls.map(({ name, args, turn }, index) => {
    const after = idsOf(turns[turns.indexOf(turn) - 1])
    const place = isOrdered ? {} : { id: idOf(index), ...(after.length > 0 && { after }) }
    return `  ${literal({ name, ...(args !== null && { args }), ...place })},`
  })
  return ['expect(trace).toMatchTrajectory([', ...lines, isOrdered ? '])' : "], { mode: 'unordered' })"]
}

function asking({ history, prompts }: ReadRun, tested: TestedAgent | undefined): string[] {
  const call = (prompt: string, messages: string | undefined) => {
    const given = [
      ...(tested?.kind === 'run' ? [] : [`agent${tested ? `: ${tested.name}` : ''}`]),
      `prompt: ${quoted(prompt)}`,
      ...(messages ? [`messages: ${messages}`] : []),
      'dispatcher',
      'client',
    ]
    return `await ${tested?.kind === 'run' ? tested.name : 'execAgent'}({ ${given.join(', ')} })`
  }
  const [first = '', ...others] = prompts
  const before = history.length > 0 ? literal(history) : undefined
  if (tested?.kind === 'run') return prompts.map((prompt) => call(prompt, before))
  return [
    `${others.length > 0 ? 'let' : 'const'} run = ${call(first, before)}`,
    ...others.map((prompt) => `run = ${call(prompt, 'run.messages')}`),
  ]
}

function scripted({ content, toolCalls, error }: ReadModelStep): object {
  if (error) return { error: { status: 500, message: error } }
  return { content, ...(toolCalls.length > 0 && { toolCalls }) }
}

/** Equal calls are one rule, which answers them in their order. */
function mocksOf(calls: readonly ReadToolCall[]): string[] {
  const answered = calls.filter(
    ({ outcome, isSubAgent }) =>
      !isSubAgent && outcome !== 'denied' && outcome !== 'rejected' && outcome !== 'waiting',
  )
  const isShared = (name: string) =>
    new Set(answered.filter((call) => call.name === name).map(pathOf)).size > 1
  const groups = new Map<string, ReadToolCall[]>()
  for (const call of answered) {
    const address =
      isShared(call.name) && call.agents.length > 0 ? `${call.agents.at(-1)} > ${call.name}` : call.name
    const key = `mock(${quoted(address)}).whenExactly(${literal(JSON.parse(canonicalJson(call.args ?? {})))})`
    groups.set(key, [...(groups.get(key) ?? []), call])
  }
  return [...groups].map(([rule, same]) => {
    const optional = same.every(({ outcome }) => outcome === 'skipped') ? '.optional()' : ''
    if (same.length > 1) return `${rule}${optional}.sequence([${same.map(itemOf).join(', ')}])`
    const call = same[0]!
    return call.outcome === 'errored'
      ? `${rule}${optional}.throws(new Error(${quoted(errorOf(call))}))`
      : `${rule}${optional}.returns(${literal(call.result)})`
  })
}

function pathOf({ agents }: ReadToolCall): string {
  return agents.at(-1) ?? ''
}

function itemOf(call: ReadToolCall): string {
  return call.outcome === 'errored' ? `new Error(${quoted(errorOf(call))})` : literal(call.result)
}

function errorOf({ error, result }: ReadToolCall): string {
  return error || (typeof result === 'string' ? result.replace(/^Error: /, '') : 'failed')
}

function humansOf(calls: readonly ReadToolCall[]): string[] {
  return calls.flatMap(({ name, human, args }) => {
    if (human === undefined || human.action === 'waiting') return []
    const by = human.approver ? `.by(${quoted(human.approver)})` : ''
    const reason = quoted(human.reason ?? 'rejected')
    const answers: Readonly<Record<string, string>> = {
      approve: '.approves()',
      edit: `.edits(${literal(args)})`,
      rejectAndContinue: `.rejects(${reason})`,
      reject: `.rejects(${reason}, { stop: true })`,
    }
    return [`human(${quoted(name)})${by}${answers[human.action] ?? '.timesOut()'}`]
  })
}

/** An agent that does what the trace tells: its tools are for the mocks, and never run. */
function standIn(
  agent: ReadAgent,
  calls: readonly ReadToolCall[],
  denied: readonly ReadToolCall[],
  used: Set<string>,
): string[] {
  used.add('Agent')
  if (denied.length > 0) {
    used.add('deny')
    used.add('isDeepStrictEqual')
  }
  const asked = calls.filter(({ human }) => human !== undefined)
  const gates = denied.map(({ name, args, gate }) => {
    const how = literal(gate?.code ? { code: gate.code } : {})
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
  if (some.length === calls.filter(({ name }) => name === tool).length) return 'needsApproval: true, '
  used.add('isDeepStrictEqual')
  return `needsApproval: (args) => ${literal(some.map(({ args }) => args))}.some((one) => isDeepStrictEqual(one, args)), `
}

function statusOf(status: RunContent['summary']['status']): string {
  if (status === 'failed') return 'error'
  return status === 'denied' || status === 'interrupted' ? 'interrupted' : 'done'
}

function titleOf({ summary }: RunContent): string {
  const text = (summary.inputPreview || summary.title).replace(/\s+/g, ' ').trim()
  const short =
    text.length > TITLE_CHARS ? `${text.slice(0, TITLE_CHARS).replace(/[\uD800-\uDBFF]$/, '')}…` : text
  return summary.agent ? `${summary.agent}: ${short}` : short || summary.traceId.slice(0, 8)
}

function quoted(text: string): string {
  return JSON.stringify(text)
}

/** JSON is JavaScript, except that `__proto__` as a key would set what it names. */
function literal(value: unknown): string {
  return (JSON.stringify(value) ?? 'undefined').replaceAll('"__proto__":', '["__proto__"]:')
}
