import { deepStrictEqual, match, ok, strictEqual } from 'node:assert'
import type { Plugin } from '../../dispatcher/index.ts'
import type { Capability } from '../../dispatcher/run/capabilities.ts'
import { type Approver, deny, type Gate, mutate, requireApproval } from '../../gates/index.ts'
import { a, assertFields, type Fields, required } from '../../internal/expect.ts'
import { type Asked, expectRefused, expectRun, flattened, type Ran, run } from './held-run.ts'
import { Recorder } from './record.ts'
import type { ContractReply, ContractScenario, ContractSubject } from './types.ts'

const look = (id: string, q: string) => ({ id, name: 'look', args: { q } })
const LOOK_THEN_DONE: readonly ContractReply[] = [{ toolCalls: [look('call_1', 'a')] }, { content: 'done' }]

/** The lines of a run of two turns, the first with the one call. */
const turns = (...inFirst: string[]) => [
  'run [done]',
  '  step 0',
  '    model',
  ...inFirst.map((line) => `    ${line}`),
  '  step 1',
  '    model',
]

const step = (...calls: string[]) => ['beforeStep', 'beforeLlmCall', 'afterLlmCall', ...calls, 'afterStep']
const oneCall = (...calls: string[]) => ['onStart', ...step(...calls), ...step(), 'onComplete']
const TOOL_HOOKS = ['beforeToolCall', 'afterToolCall']

const gate = (point: Gate['point'], decide: Gate['decide']): Omit<Plugin, 'name'> => ({
  gates: [{ id: 'contract', point, decide }],
})

type Scenario = readonly [
  name: string,
  needs: readonly Capability[],
  hold: (subject: ContractSubject) => Promise<void>,
  asked?: Asked,
]

const denied: Asked = {
  replies: LOOK_THEN_DONE,
  plugin: gate('beforeToolCall', () => deny('not today', { code: 'closed' })),
}
const changed: Asked = { replies: LOOK_THEN_DONE, plugin: gate('beforeToolCall', () => mutate({ q: 'b' })) }
const mocked: Asked = {
  replies: LOOK_THEN_DONE,
  plugin: {
    standIn: () => ({ source: 'contract', mock: { content: 'from the mock', data: { shelf: 'hidden' } } }),
  },
}
const changedResult: Asked = {
  replies: LOOK_THEN_DONE,
  plugin: gate('afterToolCall', () => mutate('rewritten')),
}
const parking: Approver = { requestApproval: async () => ({ decision: 'park' }) }
const approving: Approver = { requestApproval: async () => ({ decision: 'approve', approver: 'ines' }) }
const asking = (approver: Approver): Omit<Plugin, 'name'> => ({
  ...gate('beforeToolCall', () => requireApproval()),
  approver,
})

const SCENARIOS: readonly Scenario[] = [
  [
    'allows a call and tells all of it',
    ['toolCalls'],
    async (subject) => {
      const ran = await run(subject, { replies: LOOK_THEN_DONE })
      const hooks = oneCall(...TOOL_HOOKS)
      const tree = turns('tool look [completed]')
      expectRun(subject, ran, { tree, hooks, content: 'done', told: [/found a/] })
      deepStrictEqual(ran.bodies, ['a'])
    },
  ],
  [
    'denies a call with a reason, and the tool does not run',
    ['denyToolCalls'],
    async (subject) => {
      const ran = await run(subject, denied)
      const hooks = oneCall(...TOOL_HOOKS)
      expectRun(subject, ran, { tree: turns('tool look [denied]'), hooks, told: [/not today/] })
      deepStrictEqual(ran.bodies, [])
    },
    denied,
  ],
  [
    'runs the tool with the arguments that a gate made',
    ['denyToolCalls', 'changeArguments'],
    async (subject) => {
      const ran = await run(subject, changed)
      expectRun(subject, ran, { tree: turns('tool look [completed]'), told: [/found b/] })
      deepStrictEqual(ran.bodies, ['b'])
    },
    changed,
  ],
  [
    'answers with a mock, and the tool does not run',
    ['mockToolCalls'],
    async (subject) => {
      const ran = await run(subject, mocked)
      expectRun(subject, ran, { tree: turns('tool look [mocked]'), told: [/from the mock/] })
      ok(
        !ran.record.told.join().includes('hidden'),
        `${subject.name}: the model was told what is for the tool's caller`,
      )
      deepStrictEqual(ran.bodies, [])
    },
    mocked,
  ],
  [
    'tells the model the result that a gate made',
    ['changeResults'],
    async (subject) => {
      const ran = await run(subject, changedResult)
      expectRun(subject, ran, { tree: turns('tool look [completed]'), told: [/rewritten/] })
      ok(
        !ran.record.told.join().includes('found'),
        `${subject.name}: the model was told the tool's own result`,
      )
    },
    changedResult,
  ],
  [
    'tells what a tool throws, and goes on',
    ['toolCalls'],
    async (subject) => {
      const failing = () => Promise.reject(new Error('the shelf fell down'))
      const ran = await run(subject, { replies: LOOK_THEN_DONE, look: failing })
      if (subject.endsOnFailure) {
        const { outcome, record } = ran
        strictEqual(outcome.status, 'error')
        ok(record.tree.includes('    tool look [errored]'), `${subject.name}: the tool's failure is not told`)
        ok(record.hooks.includes('onError') && record.whole, `${subject.name}: the run did not end`)
        return
      }
      const hooks = oneCall('beforeToolCall', 'onToolCallError')
      const tree = turns('tool look [errored]')
      expectRun(subject, ran, {
        tree,
        hooks,
        told: [subject.hidesFailures ? /failed/ : /the shelf fell down/],
      })
    },
  ],
  [
    'tells parallel calls apart that share an id',
    ['toolCalls'],
    async (subject) => {
      const both = { toolCalls: [look('same', 'a'), look('same', 'b')] }
      const ran = await run(subject, { replies: [both, { content: 'done' }] })
      if (subject.refusesSameIds) {
        strictEqual(ran.outcome.status, 'error')
        ok(ran.record.whole, `${subject.name}: something was left open`)
        return
      }
      const tree = turns('tool look [completed]', 'tool look [completed]')
      const one = subject.keepsOneOfSameIds || subject.repeatsOneOfSameIds
      expectRun(subject, ran, { tree, told: one ? [] : [/found a/, /found b/] })
      deepStrictEqual([...ran.bodies].sort(), subject.repeatsOneOfSameIds ? ['a', 'a'] : ['a', 'b'])
    },
  ],
  [
    'ends a streamed call when it is read, fails or is abandoned',
    ['streams', 'llmCalls'],
    async (subject) => {
      const whole = await run(subject, { replies: [{ content: 'all of it' }], stream: 'read' })
      const once = (end: string) => ['  step 0', `    model${end}`]
      expectRun(subject, whole, { tree: ['run [done]', ...once('')], content: 'all of it' })
      const broken = await run(subject, { replies: [{ content: 'half', broken: true }], stream: 'read' })
      strictEqual(broken.outcome.status, 'error')
      ok(broken.record.tree.join('\n').includes('model [failed]'), `${subject.name}: ${broken.record.tree}`)
      ok(broken.record.whole)
      if (subject.readsItself) return
      const left = await run(subject, { replies: [{ content: 'all of it' }], stream: 'abandon' })
      expectRun(subject, left, { tree: ['run [done]', ...once(' [abandoned]')] })
    },
  ],
  [
    'ends as interrupted with the signal, its tool with it',
    ['abort', 'toolCalls'],
    async (subject) => {
      const controller = new AbortController()
      const { signal } = controller
      const waits = subject.waitsForTools === true
      const aborting = () => {
        controller.abort(new Error('enough'))
        return waits ? Promise.resolve('found too late') : new Promise<string>(() => {})
      }
      const ran = await run(subject, { replies: LOOK_THEN_DONE, look: aborting, signal })
      strictEqual(ran.outcome.status, 'interrupted')
      strictEqual(ran.record.tree[0], 'run [interrupted]')
      const ended = `tool look [${waits ? 'completed' : 'errored'}]`
      ok(
        ran.record.tree.some((line) => line.trim() === ended),
        `${subject.name}: ${ran.record.tree}`,
      )
      strictEqual(ran.record.hooks.filter((type) => type === 'beforeLlmCall').length, 1)
      ok(ran.record.whole)
    },
  ],
  [
    'nests a sub-agent below the call that made it',
    ['subAgents', 'toolCalls'],
    async (subject) => {
      const call = { id: 'call_1', name: 'expert', args: { instruction: 'help' } }
      const subAgent = { name: 'expert', replies: [{ content: 'it is 42' }] }
      const ran = await run(subject, { replies: [{ toolCalls: [call] }, { content: 'done' }], subAgent })
      const child = ['  agent expert', '    run [done]', '      step 0', '        model']
      expectRun(subject, ran, { tree: turns('tool expert [completed]', ...child), told: [/it is 42/] })
      strictEqual(
        ran.record.hooks.filter((type) => /CallAgent/.test(type)).join(),
        'beforeCallAgent,afterCallAgent',
      )
    },
  ],
  [
    'parks for a human, and goes on in another process from JSON',
    ['park', 'denyToolCalls', 'askHuman'],
    async (subject) => {
      const ran = await run(subject, { replies: LOOK_THEN_DONE.slice(0, 1), plugin: asking(parking) })
      strictEqual(ran.outcome.status, 'waiting')
      deepStrictEqual(ran.bodies, [])
      const saved = JSON.stringify({ state: ran.outcome.state, firstSequence: ran.nextSequence })
      const elsewhere = subject.elsewhere ?? ((text: string) => resumeElsewhere(subject, text))
      const rest = JSON.parse(await elsewhere(saved)) as Ran
      deepStrictEqual(rest.bodies, ['a'])
      strictEqual(rest.outcome.content, 'done')
      match(rest.record.told.join(), /found a/)
      const human = ['beforeHumanIntervention', 'afterHumanIntervention']
      const hooks = oneCall(...human, ...TOOL_HOOKS).filter(
        (type) => subject.capabilities.steps || !/Step$/.test(type),
      )
      deepStrictEqual(
        [...ran.record.hooks, ...rest.record.hooks],
        hooks,
        `${subject.name}: hooks of both parts`,
      )
      ok(ran.record.whole && rest.record.whole, `${subject.name}: an event is missing, or told twice`)
    },
    { replies: LOOK_THEN_DONE, plugin: asking(parking) },
  ],
  [
    'keeps two runs at once apart',
    ['toolCalls'],
    async (subject) => {
      const recorder = new Recorder(subject.capabilities.steps)
      const asked = (q: string) => ({
        replies: [{ toolCalls: [look('call_1', q)] }, { content: `done ${q}` }],
        look: async (given: string) => `found ${given} for ${q}`,
      })
      const runs = ['a', 'b'].map((q) => run(subject, asked(q), recorder))
      const ran = await Promise.all(runs)
      const one = flattened(subject, turns('tool look [completed]'))
      const { tree, whole } = recorder.record()
      deepStrictEqual(tree, [...one, ...one], `${subject.name}: span trees`)
      ok(whole, `${subject.name}: events of one run are counted in the other`)
      deepStrictEqual(
        ran.map(({ outcome, bodies }) => [outcome.content, ...bodies]),
        [
          ['done a', 'a'],
          ['done b', 'b'],
        ],
      )
    },
  ],
]

/** The second part of the scenario that parks: for {@link ContractSubject.elsewhere} to call in another process. */
export async function resumeElsewhere(subject: ContractSubject, saved: string): Promise<string> {
  const { state, firstSequence } = JSON.parse(saved) as { state: unknown; firstSequence: number }
  const plugin = asking(approving)
  const ran = await run(subject, { replies: [{ content: 'done' }], state, firstSequence, plugin })
  return JSON.stringify(ran)
}

const SUBJECT: Fields<ContractSubject> = {
  name: required(a.name),
  capabilities: required(a.object),
  run: required(a.function),
  readsItself: a.boolean,
  refusesSameIds: a.boolean,
  keepsOneOfSameIds: a.boolean,
  repeatsOneOfSameIds: a.boolean,
  hidesFailures: a.boolean,
  endsOnFailure: a.boolean,
  waitsForTools: a.boolean,
  elsewhere: a.function,
}

/**
 * What every adapter holds, as tests of whatever runner: each scenario states the spans, the hooks and what the model was
 * told. What an adapter says it cannot do is asked for as well, and must be refused without the tool being run.
 *
 * @example
 * for (const { name, run } of adapterContract(subject)) it(name, run)
 */
export function adapterContract(subject: ContractSubject): ContractScenario[] {
  assertFields<ContractSubject>(subject, SUBJECT, 'adapterContract')
  return SCENARIOS.map(([name, needs, hold, asked]) => {
    const can = needs.every((capability) => subject.capabilities[capability])
    return {
      name,
      needs,
      held: can ? 'whole' : asked === undefined ? 'nothing' : 'refused',
      run: async () => {
        if (can) await hold(subject)
        else if (asked !== undefined) await expectRefused(subject, asked)
      },
    }
  })
}
