import { deepStrictEqual, match, ok, strictEqual } from 'node:assert'
import type { Plugin } from '../../dispatcher/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { Recorder, type RunRecord } from './record.ts'
import type { ContractOutcome, ContractReply, ContractRun, ContractSubject, ContractTool } from './types.ts'

const PARAMETERS = {
  type: 'object',
  properties: { q: { type: 'string' } },
  required: ['q'],
  additionalProperties: false,
}

/** One run, with all that it told. */
export interface Ran {
  readonly outcome: ContractOutcome
  readonly record: RunRecord
  /** The arguments that the tool's body was run with. */
  readonly bodies: readonly string[]
  readonly nextSequence: number
}

export interface Asked extends Partial<Pick<ContractRun, 'subAgent' | 'stream' | 'signal' | 'state'>> {
  readonly replies: readonly ContractReply[]
  readonly look?: (q: string, signal: AbortSignal | undefined) => Promise<string>
  readonly plugin?: Omit<Plugin, 'name'>
  readonly firstSequence?: number
}

/** Lets the adapter make the run, and gives all that it told. */
export async function run(subject: ContractSubject, asked: Asked, shared?: Recorder): Promise<Ran> {
  const { replies, look: body = async (q) => `found ${q}`, plugin, firstSequence, ...more } = asked
  const recorder = shared ?? new Recorder(subject.capabilities.steps, firstSequence)
  if (plugin !== undefined) recorder.dispatcher.use({ name: 'scenario', ...plugin })
  const bodies: string[] = []
  const tool: ContractTool = {
    name: 'look',
    description: 'Looks something up.',
    parameters: PARAMETERS,
    execute: ({ q }, { signal }) => {
      bodies.push(q)
      return body(q, signal)
    },
  }
  const { dispatcher } = recorder
  const given = { dispatcher, agentName: 'contract', prompt: 'Look up a.', tools: [tool] }
  const outcome = await subject.run({ ...given, replies, ...more })
  await dispatcher.drain()
  return { outcome, record: recorder.record(), bodies, nextSequence: recorder.nextSequence }
}

/** Holds a whole run against what every SDK is to tell of it. */
export function expectRun(subject: ContractSubject, { record, outcome }: Ran, expected: Expected): void {
  strictEqual(outcome.status, expected.status ?? 'done', `${subject.name}: status`)
  deepStrictEqual(record.tree, flattened(subject, expected.tree), `${subject.name}: span tree`)
  if (expected.content !== undefined) strictEqual(outcome.content, expected.content)
  for (const [index, text] of (expected.told ?? []).entries()) {
    match(record.told[index] ?? '', text, `${subject.name}: what the model was told`)
  }
  if (expected.hooks !== undefined) {
    const steps = subject.capabilities.steps
    const hooks = expected.hooks.filter((type) => steps || !/Step$/.test(type))
    deepStrictEqual(record.hooks, hooks, `${subject.name}: hooks`)
  }
  ok(record.whole, `${subject.name}: something was left open, or an event is missing`)
}

interface Expected {
  readonly status?: ContractOutcome['status']
  readonly tree: readonly string[]
  readonly content?: string
  readonly told?: readonly RegExp[]
  readonly hooks?: readonly string[]
}

/** The same tree as an adapter tells it that has no steps. */
export function flattened({ capabilities }: ContractSubject, tree: readonly string[]): readonly string[] {
  if (capabilities.steps) return tree
  return tree.filter((line) => !/^ *step /.test(line)).map((line) => line.replace(/^ {4}/, '  '))
}

/** Whatever it is that the adapter cannot do is refused, and the tool does not run instead. */
export async function expectRefused(subject: ContractSubject, asked: Asked): Promise<void> {
  const bodies: string[] = []
  const note = async (q: string) => {
    bodies.push(q)
    return `found ${q}`
  }
  const kept = { ...asked, look: note }
  let told = ''
  try {
    told = (await run(subject, kept)).record.told.join('\n')
  } catch (error) {
    told = error instanceof HookspanError ? error.code : String(error)
  }
  deepStrictEqual(bodies, [], `${subject.name}: the tool ran although what was asked for cannot be done`)
  match(
    told,
    /NOT_CAPABLE|not_capable|approval_error/,
    `${subject.name}: nothing says that it cannot be done`,
  )
}
