import type { HookDispatcher } from '../../dispatcher/index.ts'
import { type AdapterInfo, assertCapable } from '../../dispatcher/run/capabilities.ts'
import { currentPlace } from '../../dispatcher/run/current.ts'
import { isMocked } from '../../dispatcher/run/guarded.ts'
import { NONE } from '../capabilities.ts'
import { relay } from '../sdk-loop/relay.ts'
import { withOwn } from '../sdk-loop/with-own.ts'
import type { AdkAgent, AdkEvent, AdkInvocation } from './adk.ts'
import { AgentRun } from './agent-run.ts'

/** A live run: nothing of it can be decided on. */
const LIVE: AdapterInfo = { name: 'google-adk (runLive)', capabilities: NONE }

interface Told {
  readonly dispatcher: HookDispatcher
  readonly agentName?: string
}

/** There is no place in it at which anybody could be asked: it is told as one run without insides. */
export function liveAgent(agent: AdkAgent, { dispatcher, agentName }: Told): AdkAgent {
  return withOwn(agent, {
    async *runLive(context: AdkInvocation): AsyncGenerator<AdkEvent, void> {
      const place = currentPlace()
      if (place !== undefined) {
        assertCapable(LIVE, place.core.allGates(), isMocked(place.core))
      }
      const { run } = new AgentRun({ dispatcher, adapter: LIVE }, agentName, { ...context, agent })
      context.agent = agent
      try {
        await run.admit()
        yield* relay(agent.runLive(context), (step) => run.run(step))
      } catch (error) {
        await run.fail(error)
        throw error
      } finally {
        await run.end()
      }
    },
  })
}
