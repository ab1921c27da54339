import type { Refusal } from '../../gates/chain.ts'
import type { Gate, GatePoint } from '../../gates/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { a, expected } from '../../internal/expect.ts'

/** What an adapter can do, as it says itself. What it cannot do is refused where it is asked for. */
export const CAPABILITIES = {
  steps: 'tells the turns of the loop',
  llmCalls: 'tells model calls',
  streams: 'tells streamed model calls to their end',
  decideLlmCalls: 'lets gates change, answer and refuse model calls',
  toolCalls: 'tells tool calls',
  denyToolCalls: 'lets gates and humans refuse tool calls',
  changeArguments: 'runs a tool with the arguments that a gate or a human made',
  changeResults: 'gives the model the result that a gate made',
  mockToolCalls: 'lets a mock stand in for a tool',
  askHuman: 'waits for a human, in the process',
  park: 'lets a run wait for a human across processes',
  subAgents: 'tells the calls of other agents',
  compaction: 'tells compactions, and lets gates decide on them',
  abort: 'ends with the signal of its caller',
} as const

export type Capability = keyof typeof CAPABILITIES

export type AdapterCapabilities = Readonly<Record<Capability, boolean>>

/** Who speaks for a runtime. */
export interface AdapterInfo {
  /** As errors name it: `ai-sdk`, `langchain`, ... */
  readonly name: string
  readonly capabilities: AdapterCapabilities
}

/** What a gate at a point needs. A table, so that a new point has to say it. */
const NEEDED: Readonly<Record<GatePoint, Capability | undefined>> = {
  onStart: undefined,
  beforeLlmCall: 'decideLlmCalls',
  afterLlmCall: 'decideLlmCalls',
  beforeToolCall: 'denyToolCalls',
  afterToolCall: 'changeResults',
  beforeCallAgent: 'subAgents',
  beforeCompact: 'compaction',
  afterStep: 'steps',
  beforeComplete: undefined,
}

/**
 * Refuses guards and mocks that the adapter cannot hold, before anything runs.
 *
 * @throws HookspanError `NOT_CAPABLE`.
 */
export function assertCapable(adapter: AdapterInfo, gates: readonly Gate[], mocks: boolean): void {
  for (const { id, point, shadow } of gates) {
    for (const at of shadow ? [] : [point].flat()) {
      const needed = NEEDED[at]
      if (needed !== undefined) assertCan(adapter, needed, `Gate "${id}" decides at ${at}`)
    }
  }
  if (mocks) assertCan(adapter, 'mockToolCalls', 'Tools are mocked')
}

/** The refusal of what an adapter is asked for while its run goes on; undefined where it can. */
export function incapable(
  adapter: AdapterInfo | undefined,
  needed: Capability | undefined,
): Refusal | undefined {
  if (adapter === undefined || needed === undefined || adapter.capabilities[needed]) return undefined
  const reason = `adapter "${adapter.name}" does not say that it ${CAPABILITIES[needed]} (\`${needed}\`)`
  return { kind: 'deny', code: 'not_capable', reason, stop: false }
}

/** The same for a gate's point. */
export function incapableAt(adapter: AdapterInfo | undefined, point: GatePoint): Refusal | undefined {
  return incapable(adapter, NEEDED[point])
}

/** @throws HookspanError `NOT_CAPABLE`, `what` being what asks for it. */
export function assertCan(adapter: AdapterInfo, needed: Capability, what: string): void {
  const { name, capabilities }: Partial<AdapterInfo> = adapter ?? {}
  if (!a.object.fits(capabilities)) throw expected('an adapter, { name, capabilities }', adapter)
  if (!Object.hasOwn(CAPABILITIES, needed)) {
    throw expected(`a capability, one of ${Object.keys(CAPABILITIES).join(', ')}`, needed)
  }
  if ((capabilities as AdapterInfo['capabilities'])[needed]) return
  const message = `${what}, and adapter "${name}" does not say that it ${CAPABILITIES[needed]} (\`${needed}\`).`
  throw new HookspanError('NOT_CAPABLE', message)
}

/** @throws HookspanError `INVALID_OPTION` where a capability is neither told nor denied. */
export function assertAdapter(adapter: AdapterInfo): void {
  const { name, capabilities }: Partial<AdapterInfo> = adapter ?? {}
  const told: Readonly<Record<string, unknown>> = capabilities ?? {}
  const names = Object.keys(CAPABILITIES)
  const wrong =
    typeof name !== 'string' || name === ''
      ? 'its `name`'
      : (names.find((key) => typeof told[key] !== 'boolean') ??
        Object.keys(told).find((key) => !names.includes(key)))
  if (wrong === undefined) return
  throw new HookspanError(
    'INVALID_OPTION',
    `Expected \`adapter\` to be { name, capabilities } with true or false for each of ${names.join(', ')}; look at ${wrong}.`,
  )
}
