import { withOwn } from '../sdk-loop/with-own.ts'
import { warnOfUnseen, withUnseenModel } from '../unseen.ts'
import type { AdkAgent, AdkModel, AdkRequest } from './adk.ts'
import type { AgentRun } from './agent-run.ts'
import { ADAPTER } from './capabilities.ts'
import { callModel } from './model-call.ts'

/** Whose each request is: an agent may be at work for several plugins at once. */
const requests = new WeakMap<object, AgentRun>()
const models = new WeakMap<object, AdkModel>()

export function askedBy(request: AdkRequest, agent: AgentRun): void {
  requests.set(request, agent)
}

export function whoseRequest(request: AdkRequest): AgentRun | undefined {
  return requests.get(request)
}

/** Puts an observed model in the place of an agent's own. Gives how it is taken out. */
export function ownModel(agent: AdkAgent): () => void {
  const read = () => {
    for (let at = Object.getPrototypeOf(agent); at !== null; at = Object.getPrototypeOf(at)) {
      if (Object.hasOwn(at, 'canonicalModel')) return Reflect.get(at, 'canonicalModel', agent) as AdkModel
    }
    return undefined
  }
  const get = () => {
    const own = read()
    return own && observedModel(own)
  }
  const before = Object.getOwnPropertyDescriptor(agent, 'canonicalModel')
  Object.defineProperty(agent, 'canonicalModel', { get, configurable: true })
  return () => {
    if (before !== undefined) Object.defineProperty(agent, 'canonicalModel', before)
    else delete (agent as { canonicalModel?: unknown }).canonicalModel
  }
}

function observedModel(model: AdkModel): AdkModel {
  const known = models.get(model)
  if (known !== undefined) return known
  const observed = withOwn(model, {
    generateContentAsync: (request: AdkRequest, ...more: [boolean?, AbortSignal?]) => {
      const ask = (effective: AdkRequest) => model.generateContentAsync(effective, ...more)
      const agent = requests.get(request)
      return agent === undefined ? ask(request) : callModel(agent, model, request, ask)
    },
  })
  models.set(model, observed)
  return observed
}

/** @throws HookspanError `NOT_CAPABLE` where gates decide on model calls. */
export function unseenModel({ run }: AgentRun, { name }: AdkAgent): void {
  try {
    run.assertCapable(withUnseenModel(ADAPTER))
  } catch (error) {
    // The SDK tells it by an event, and its run ends as if all were well.
    run.failure = { error }
    throw error
  }
  warnOfUnseen(`the agent "${name}"`)
}
