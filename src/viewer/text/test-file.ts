/** A vitest file of recorded runs: their tools mocked, their model scripted, their trajectory expected. */

import { HookspanError } from '../../internal/errors.ts'
import { canonicalJson } from '../../internal/json.ts'
import { isRecord } from '../../internal/objects.ts'
import type { RunContent } from '../model/data-set.ts'
import { charsThatTell } from './chars-that-tell.ts'
import { literal, quoted } from './literals.ts'
import type { ReadModelStep, ReadToolCall } from './read-call.ts'
import { type ReadRun, readRun } from './read-run.ts'
import { standIn } from './stand-in.ts'

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

/** @throws HookspanError when a run lacks what a test is made of; of several, one that does is left out, and that is said. */
export function testFile(runs: readonly RunContent[], tested?: TestedAgent): TestFile {
  const notes: string[] = []
  const used = new Set<string>()
  const titles = new Map<string, number>()
  const left: HookspanError[] = []
  const tests = runs.flatMap((content) => {
    try {
      return [testMadeOf(content)]
    } catch (error) {
      if (!(error instanceof HookspanError)) throw error
      left.push(error)
      return []
    }
  })
  if (tests.length === 0 && left[0]) throw left[0]
  const leftOut = left.map(({ message }) => `Left out: ${message}`)
  const top = [header(runs, tested), ...leftOut.map((line) => `// ${line.replace(/\s+/g, ' ')}`)].join('\n')
  return { text: `${[top, imports(used, tested), ...tests].join('\n\n')}\n`, notes: [...notes, ...leftOut] }

  function testMadeOf(content: RunContent): string {
    const run = readRun(content, tested === undefined)
    const title = titleOf(content)
    const count = (titles.get(title) ?? 0) + 1
    titles.set(title, count)
    const named = count === 1 ? title : `${title} (${count})`
    return testOf(named, content, run, { tested, used, notes })
  }
}

function header(runs: readonly RunContent[], tested: TestedAgent | undefined): string {
  const whole = runs.map(({ summary }) => summary.traceId)
  const chars = charsThatTell(whole)
  const ids = whole.map((id) => id.slice(0, chars))
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
  const unable = whyNot(summary, run, tested)
  if (unable) throw new HookspanError('INVALID_OPTION', `Run ${summary.traceId} ${unable}`)
  if (run.leftOut.length > 0)
    notes.push(`The test of run ${summary.traceId} leaves out ${run.leftOut.join('; ')}. ${NAME_IT}`)
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
    ...(tested ? [] : standIn(run, denied, used)),
    ...asking(run, summary.reason, tested),
    ...(tested?.kind === 'run' ? [] : [`expect(run.status).toBe(${quoted(statusOf(summary.status))})`]),
    ...trajectoryOf(run.calls),
  ]
  return `test(${quoted(title)}, async ({ ${fixtures.join(', ')} }) => {\n${lines.map((line) => `  ${line}`).join('\n')}\n})`
}

const NAME_IT = 'Name the agent: --agent ./file.ts#name.'

/** What a test cannot repeat, or only with the agent that did it. */
function whyNot(
  { status, reason }: RunContent['summary'],
  { steps, calls, isCompacted }: ReadRun,
  tested: TestedAgent | undefined,
): string | undefined {
  if (status === 'running' || status === 'waiting') return 'is not over: a test is made of what came of it.'
  if (status === 'interrupted')
    return 'was interrupted from outside of it (a signal, or its process died): a test cannot repeat that.'
  // None at all are an empty object.
  const broken = calls.find(({ asked }) => asked !== undefined && asked !== '' && !isRecord(asked))
  if (broken !== undefined)
    return `called ${quoted(broken.name)} with arguments that are no JSON object, which mocks refuse.`
  if (tested !== undefined) return undefined
  if (isCompacted) return `compacted its context, and its trace does not tell by which rule. ${NAME_IT}`
  if (reason === 'cost_limit') return `reached its limit of cost, which its trace does not tell. ${NAME_IT}`
  if (status === 'failed' && !steps.at(-1)?.error)
    return `failed of something other than its model, which its trace does not tell. ${NAME_IT}`
  return undefined
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

function asking(
  { history, prompts, lastSteps, endsOnTools }: ReadRun,
  reason: string,
  tested: TestedAgent | undefined,
): string[] {
  // What ended it after its tools, a limit or its runtime, is no part of the agent that the trace tells.
  const isStopped = reason === 'max_steps' || (endsOnTools && reason !== 'denied')
  const standsIn = isStopped ? `agent: { ...agent, maxSteps: ${lastSteps} }` : 'agent'
  const call = (prompt: string, messages: string | undefined, isLast: boolean) => {
    const made = isLast ? standsIn : 'agent'
    const given = [
      ...(tested?.kind === 'run' ? [] : [tested ? `agent: ${tested.name}` : made]),
      `prompt: ${quoted(prompt)}`,
      ...(messages ? [`messages: ${messages}`] : []),
      'dispatcher',
      'client',
    ]
    return `await ${tested?.kind === 'run' ? tested.name : 'execAgent'}({ ${given.join(', ')} })`
  }
  const [first = '', ...others] = prompts
  const before = history.length > 0 ? literal(history) : undefined
  if (tested?.kind === 'run') return prompts.map((prompt) => call(prompt, before, false))
  return [
    `${others.length > 0 ? 'let' : 'const'} run = ${call(first, before, others.length === 0)}`,
    ...others.map((prompt, index) => `run = ${call(prompt, 'run.messages', index === others.length - 1)}`),
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
    return [`human(${quoted(name)})${by}${answerOf(human, args) ?? '.timesOut()'}`]
  })
}

/** None where nobody answered. */
function answerOf(human: NonNullable<ReadToolCall['human']>, args: ReadToolCall['args']): string | undefined {
  const reason = quoted(human.reason ?? 'rejected')
  switch (human.action) {
    case 'approve':
      return '.approves()'
    case 'edit':
      return `.edits(${literal(args)})`
    case 'rejectAndContinue':
      return `.rejects(${reason})`
    case 'reject':
      return `.rejects(${reason}, { stop: true })`
    default:
      return undefined
  }
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
