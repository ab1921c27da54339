import type { Agent, AgentTool, ExecAgentOptions } from 'hookspan/agent'
import { deny } from 'hookspan/gates'
import type { ModelStep } from 'hookspan/mock'
import { Random } from '../../viewer/store-model/random.ts'

export interface RandomRun {
  readonly agent: Agent
  readonly prompt: string
  readonly steps: ModelStep[]
  readonly more: Partial<ExecAgentOptions>
}

const TEXTS = [
  'Hello.',
  'a `note` of \u0024{x}',
  '\\ "quoted" \'s',
  'line\nand line\u2028',
  '🙂 ü',
  ' ',
  '*/ // <b>',
  '__proto__',
  '0',
]
const VALUES = [
  null,
  0,
  -0.5,
  1e21,
  '',
  'text',
  true,
  [],
  [1, [null]],
  {},
  { a: { b: ['c'] } },
  { __proto: 1 },
  '{"a":1}',
  '42',
  'null',
]

/** A run as an agent might have made it: any answers, calls, refusals, people and failures. */
export function randomRun(seed: number): RandomRun {
  const random = new Random(seed)
  const text = () => random.pick(TEXTS)
  const value = () => random.pick(VALUES)
  const args = (): Record<string, unknown> =>
    Object.fromEntries<unknown>(
      Array.from({ length: random.between(0, 3) }, (_, at) => [
        random.pick(['id', 'n', 'to', 'a b', `k${at}`]),
        value(),
      ]),
    )
  const gates = new Set<string>()
  const result = () => {
    if (random.chance(0.15)) throw random.chance(0.8) ? new Error(text()) : text()
    return random.chance(0.1) ? undefined : value()
  }
  const toolsOf = (names: readonly string[]): AgentTool[] =>
    names.map((name) => {
      if (random.chance(0.15)) gates.add(name)
      return {
        name,
        execute: result,
        ...(random.chance(0.5) && { description: text() }),
        ...(random.chance(0.5) && { parameters: { type: 'object', properties: {} } }),
        ...(random.chance(0.25) && {
          needsApproval: random.chance(0.5) || (() => random.chance(0.5)),
          approval: { timeoutMs: random.chance(0.1) ? 20 : 20_000 },
        }),
      }
    })
  const own = ['find', 'pay', 'send-mail'].slice(0, random.between(0, 3))
  const below = ['look', ...(random.chance(0.3) ? ['find'] : [])]
  const hasSub = random.chance(0.3)
  const sub: Agent = { name: 'helper', description: text(), model: 'm-2', tools: toolsOf(below) }
  const codes = { code: 'policy' }
  const agent: Agent = {
    name: random.pick(['support', 'a `b` "c"', 'Ä 1']),
    model: random.pick(['gpt-4o', 'm']),
    ...(random.chance(0.6) && { instructions: text() }),
    tools: toolsOf(own),
    ...(hasSub && { subAgents: [sub] }),
    ...(random.chance(0.2) && { stream: true }),
    ...(random.chance(0.15) && { maxSteps: random.between(1, 3) }),
    gates: [
      {
        id: 'no',
        point: 'beforeToolCall',
        decide: ({ apiName }) =>
          gates.has(apiName ?? '') && random.chance(0.7)
            ? deny(text(), random.chance(0.2) ? { ...codes, stop: true } : codes)
            : undefined,
      },
    ],
  }
  const callOf = (names: readonly string[]) => ({
    name: random.chance(0.05) ? 'nobody' : random.pick(names),
    arguments: random.chance(0.05) ? random.pick(['', '{', '[]', '1']) : args(),
  })
  const turns = (names: readonly string[], depth: number): ModelStep[] => {
    const steps: ModelStep[] = []
    for (let left = random.between(0, 4); left > 0 && names.length > 0; left--) {
      if (hasSub && depth === 0 && random.chance(0.3)) {
        steps.push({ toolCalls: [{ name: 'helper', arguments: { instruction: `Do ${text()}` } }] })
        steps.push(...turns(below, 1))
        continue
      }
      const calls = Array.from({ length: random.chance(0.25) ? random.between(2, 3) : 1 }, () =>
        callOf(names),
      )
      steps.push({ ...(random.chance(0.3) && { content: text() }), toolCalls: calls })
    }
    if (random.chance(0.06))
      steps.push({ error: { status: random.pick([400, 500, 429]), message: text() || 'no' } })
    else
      steps.push({
        content: random.chance(0.08) ? '' : text(),
        ...(random.chance(0.08) && { finishReason: 'length' }),
      })
    return steps
  }
  const answers = ['approve', 'approve', 'reject', 'stop', 'edit'] as const
  const approver: ExecAgentOptions['approver'] = async () => {
    switch (random.pick(answers)) {
      case 'approve':
        return { decision: 'approve', approver: 'ines' }
      case 'edit':
        return { decision: 'edit', args: { edited: value() }, approver: 'ines' }
      case 'reject':
        return { decision: 'reject', reason: text(), approver: 'ines' }
      default:
        return { decision: 'reject', reason: text(), stop: true, approver: 'ines' }
    }
  }
  const messages = [
    { role: 'user', content: 'First.' },
    { role: 'assistant', content: 'Yes?' },
  ] as const
  return {
    agent,
    prompt: `${text()}${seed}`,
    steps: turns(own, 0),
    more: { approver, ...(random.chance(0.15) && { messages }) },
  }
}
