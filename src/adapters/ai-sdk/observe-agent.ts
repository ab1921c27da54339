import { HookspanError } from '../../internal/errors.ts'
import type { ObservedRun } from '../sdk-run/observed-run.ts'
import { attached, stepCallbacks } from './attach.ts'
import { type AgentLike, assertInReach, beginAgentRun, type Host, toolsOf } from './begin-run.ts'
import { generated, streamCallbacks } from './observe-text.ts'
import type { SdkArguments } from './sdk.ts'
import { watchResult } from './stream-result.ts'

/** The SDK's `ToolLoopAgent`, as far as it is built upon. */
interface SdkAgent extends AgentLike {
  generate(params: SdkArguments): Promise<unknown>
  stream(params: SdkArguments): Promise<unknown>
  /** Makes the arguments of `generateText` and `streamText`. The SDK keeps it to itself. */
  prepareCall(params: SdkArguments): Promise<SdkArguments>
}

export type SdkAgentClass = new (settings: object) => SdkAgent

const RUN = Symbol('hookspan.run')

/** The agent's class, whose agents are observed. @throws HookspanError `NOT_CAPABLE` for a class of another make. */
export function observeAgentClass(Agent: SdkAgentClass, host: Host, gateway: unknown): SdkAgentClass {
  if (typeof Agent.prototype?.prepareCall !== 'function') {
    throw new HookspanError(
      'NOT_CAPABLE',
      'hookspan knows the ToolLoopAgent of ai 7, and this one has no prepareCall(): its tools would run unseen. ' +
        'Install ai 7, or update hookspan.',
    )
  }
  const observed = class extends Agent {
    constructor(settings: object) {
      super(settings)
      // What somebody has put in the place of the class may give an object of another one.
      if (this instanceof observed) return
      throw new HookspanError(
        'NOT_CAPABLE',
        'The ToolLoopAgent that observeAISDK() was given gives agents of another class, whose tools would run unseen. ' +
          'Observe the ai package itself, and have what that gives wrapped: wrap(observeAISDK(ai, ...)).',
      )
    }

    override async generate(params: SdkArguments): Promise<unknown> {
      const run = beginAgentRun(host, this, params ?? {})
      return generated(run, () => {
        const given = { ...params, ...stepCallbacks(run, params), [RUN]: run }
        return super.generate(given)
      })
    }

    override async stream(params: SdkArguments): Promise<unknown> {
      const run = beginAgentRun(host, this, params ?? {})
      try {
        const result = await super.stream({ ...params, ...streamCallbacks(run, params), [RUN]: run })
        watchResult(result, run)
        return result
      } catch (error) {
        await run.fail(error)
        throw error
      }
    }

    override async prepareCall(params: SdkArguments): Promise<SdkArguments> {
      const { [RUN]: run, ...asked } = params as SdkArguments & { [RUN]?: ObservedRun }
      if (run === undefined) return super.prepareCall(asked)
      const input = await run.admit()
      const changed =
        input === run.input ? {} : asked.prompt === undefined ? { messages: input } : { prompt: input }
      const prepared = await super.prepareCall({ ...asked, ...changed })
      assertInReach(run, toolsOf(prepared))
      return attached(run, host, prepared, gateway)
    }
  }
  Object.defineProperty(observed, 'name', { value: Agent.name })
  return observed
}
