import { assertAdapterOptions } from '../../adapter/adapter-options.ts'
import type { HookDispatcher } from '../../dispatcher/index.ts'
import { yieldsTo } from '../../dispatcher/yielding.ts'
import { a, type Fields } from '../../internal/expect.ts'
import { defined } from '../../internal/objects.ts'
import { warnOfVersion } from '../peer-range.ts'
import { warnOnce } from '../warn-once.ts'
import { assertSame, wrongTarget } from '../wrong-target.ts'
import type { Host } from './begin-run.ts'
import { ADAPTER } from './capabilities.ts'
import { AI_SDK_NAMES } from './names.ts'
import { observeAgentClass } from './observe-agent.ts'
import { observeEmbed, observeGenerateObject, observeRerank, observeStreamObject } from './observe-object.ts'
import { observeGenerate, observeStream } from './observe-text.ts'
import type { SdkFunction } from './sdk.ts'

export interface ObserveAISDKOptions {
  dispatcher: HookDispatcher
  /** Names runs that have no name: neither `telemetry.functionId` nor the `id` of an agent. */
  agentName?: string
  /**
   * What becomes of the spans that the SDK makes itself where `@ai-sdk/otel` is registered: `omit` leaves them out, as
   * each call is a span of ours already; `nest` keeps them, below ours. Other integrations stay either way.
   *
   * @default 'omit'
   */
  sdkSpans?: 'omit' | 'nest'
}

const FIELDS: Fields<ObserveAISDKOptions> = {
  dispatcher: a.value,
  agentName: a.string,
  sdkSpans: a.oneOf('omit', 'nest'),
}

type Observe = (sdk: never, host: Host, gateway: unknown) => unknown

const OBSERVED: Readonly<Record<(typeof AI_SDK_NAMES)[number], Observe>> = {
  generateText: observeGenerate,
  streamText: observeStream,
  experimental_streamTextLowMemory: observeStream,
  generateObject: observeGenerateObject,
  streamObject: observeStreamObject,
  embed: observeEmbed,
  embedMany: observeEmbed,
  rerank: observeRerank,
  ToolLoopAgent: observeAgentClass as Observe,
  Experimental_Agent: observeAgentClass as Observe,
} satisfies Record<string, ((sdk: SdkFunction, host: Host, gateway: unknown) => SdkFunction) | Observe>

const observed = new WeakMap<object, ObserveAISDKOptions>()
/** Of our functions, whose they are and what they are made of: a program may take them for the package's own. */
const made = new WeakMap<object, { readonly own: unknown; readonly dispatcher: HookDispatcher }>()

/**
 * Gives the functions of the `ai` package, each of whose runs lives the lifecycle: `generateText`, `streamText`,
 * `generateObject`, `streamObject`, `embed`, `embedMany`, `rerank` and `ToolLoopAgent`. All else of the package is handed
 * through as it is. The package itself stays as it was: to undo it, do not use what this gives.
 *
 * A call is a run of its own. Inside of a tool it is the run of a sub-agent, below that tool; inside of an operation
 * that is running, its calls belong to that.
 *
 * @param ai the package, or an object with some of its functions.
 * @throws HookspanError `INVALID_OPTION` for what is not the package, or is observed by another dispatcher already.
 * @example
 * import * as ai from 'ai'
 * const { generateText, streamText, ToolLoopAgent } = observeAISDK(ai, { dispatcher })
 */
export function observeAISDK<M extends object>(ai: M, options: ObserveAISDKOptions): M {
  assertAdapterOptions(options, FIELDS, 'observeAISDK')
  const { dispatcher, agentName, sdkSpans = 'omit' } = options
  const sdk = ai as Readonly<Record<string, unknown>>
  const names = typeof ai === 'object' && ai !== null ? AI_SDK_NAMES : []
  const there = names.filter((name) => typeof sdk[name] === 'function')
  if (there.length === 0)
    throw wrongTarget(
      'observeAISDK',
      'the ai package (`import * as ai`), or an object with some of its functions',
      ai,
    )
  const before = observed.get(ai)
  if (before !== undefined) {
    assertSame(before, options, 'These functions are', 'Give observeAISDK the ai package itself.')
    return ai
  }
  warnOfOthers(sdk)
  const host: Host = { dispatcher, adapter: ADAPTER, agentName, omitSdkSpans: sdkSpans === 'omit' }
  const functions = there.map((name) => {
    const own = ownOf(sdk[name] as object, dispatcher)
    const given = OBSERVED[name](own as never, host, sdk.gateway) as object
    made.set(given, { own, dispatcher })
    return [name, given]
  })
  const result = { ...ai, ...Object.fromEntries(functions) } as M
  observed.set(result, { dispatcher, sdkSpans, ...defined({ agentName }) })
  return result
}

/** Not observed a second time below us. */
function ownOf(given: object, dispatcher: HookDispatcher): unknown {
  const before = made.get(given)
  return yieldsTo(before?.dispatcher, dispatcher) ? before?.own : given
}

/** By what version 7 has and others have not; else by what is installed. */
function warnOfOthers(sdk: Readonly<Record<string, unknown>>): void {
  const isWhole = typeof sdk.tool === 'function'
  if (!isWhole || (typeof sdk.registerTelemetry === 'function' && typeof sdk.isStepCount === 'function')) {
    warnOfVersion('ai')
    return
  }
  warnOnce(
    'hookspan knows ai 7, and this is another version. Steps may not be told, and a call that a human has to decide ' +
      'on is refused. Install ai 7, or update hookspan.',
  )
}
