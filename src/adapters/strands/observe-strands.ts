import type { HookDispatcher } from '../../dispatcher/index.ts'
import type { AdapterInfo } from '../../dispatcher/run/capabilities.ts'
import { HookspanError } from '../../internal/errors.ts'
import { a, type Fields } from '../../internal/expect.ts'
import { warnOfVersion } from '../peer-range.ts'
import { AttachedObjects } from '../sdk-loop/attached.ts'
import { STRANDS_CAPABILITIES } from './capabilities.ts'
import { type Host, ObservedAgent } from './observed-agent.ts'
import { isStrandsAgent, type StrandsAgent } from './sdk.ts'

export interface ObserveStrandsOptions {
  dispatcher: HookDispatcher
  /** Names the agent's runs. @default the agent's name */
  agentName?: string
  /**
   * What becomes of the spans that the SDK makes itself where OpenTelemetry is set up for the process: they are left
   * out, or stay below the span of the run, beside hookspan's. @default 'omit'
   */
  sdkSpans?: 'omit' | 'nest'
}

const FIELDS: Fields<ObserveStrandsOptions> = {
  dispatcher: a.value,
  agentName: a.string,
  sdkSpans: a.oneOf('omit', 'nest'),
}

const ADAPTER: AdapterInfo = { name: 'strands', capabilities: STRANDS_CAPABILITIES }

const attached = new AttachedObjects(
  'observeStrands',
  'an Agent of @strands-agents/sdk',
  (agent: Partial<StrandsAgent>) => typeof agent.stream === 'function' && agent.messages !== undefined,
  ({ nodes }: { nodes?: unknown }) =>
    nodes === undefined ? undefined : 'Observe each of its agents before it is made of them.',
)

/** Agents that are observed because an observed agent has them as tools, or were asked for. */
const known = new WeakSet<object>()

/**
 * Makes each invocation of an agent of Strands (`invoke`, `stream`) a run: its model calls begin steps, gates decide on
 * its tools and mocks stand in for them. The agents that it has as tools are observed with it, as its sub-agents.
 *
 * @returns the same agent.
 * @throws HookspanError `INVALID_OPTION` when it is none, or is observed by another dispatcher; `NOT_CAPABLE` for an
 * agent of another make.
 * @example
 * const agent = observeStrands(new Agent({ model, tools }), { dispatcher })
 * await agent.invoke('Where is my order?')
 */
export function observeStrands<T extends object>(agent: T, options: ObserveStrandsOptions): T {
  return attached.attach(agent, options, FIELDS, () => {
    warnOfVersion('@strands-agents/sdk')
    const { dispatcher, agentName, sdkSpans = 'omit' } = options
    return observe(agent, { dispatcher, adapter: ADAPTER, agentName, omitSdkSpans: sdkSpans === 'omit' })
  })
}

function observe(agent: object, host: Host): () => void {
  if (!isStrandsAgent(agent)) {
    throw new HookspanError(
      'NOT_CAPABLE',
      'hookspan knows the Agent of @strands-agents/sdk 1, and this one has no middleware: its tools would run unseen. ' +
        'Install @strands-agents/sdk 1.16 or later, or update hookspan.',
    )
  }
  const below: StrandsAgent[] = []
  const { dispatcher } = host
  const sdkSpans = host.omitSdkSpans ? 'omit' : 'nest'
  const undo = new ObservedAgent(agent, host, (tool) => {
    if (!isStrandsAgent(tool) || known.has(tool)) return
    below.push(observeStrands(tool, { dispatcher, sdkSpans }))
  }).attach()
  known.add(agent)
  return () => {
    known.delete(agent)
    undo()
    for (const tool of below) unobserveStrands(tool)
  }
}

/** Leaves the agent as it was before `observeStrands`. A run under way is observed to its end. */
export function unobserveStrands<T extends object>(agent: T): T {
  return attached.detach(agent)
}
