import { type AnyHookType, EXTENDED_HOOK_TYPES, HOOK_TYPES, HookDispatcher, type HookEvent } from 'hookspan'
import {
  type Respond,
  type ScriptedFetch,
  type ScriptedStep,
  type ScriptOptions,
  scriptedFetch,
} from 'hookspan/mock'
import OpenAI from 'openai'
import { activityTree } from './activity-tree.ts'

/** The real client on a model that answers from a script. */
export function scripted(script: readonly ScriptedStep[] | Respond): {
  fetch: ScriptedFetch
  client: OpenAI
} {
  const options: ScriptOptions = typeof script === 'function' ? { respond: script } : { steps: script }
  const fetch = scriptedFetch(options)
  return { fetch, client: new OpenAI({ apiKey: 'k', fetch, maxRetries: 0 }) }
}

/** A dispatcher of which every event and every activity is written down. */
export function recorded() {
  const dispatcher = new HookDispatcher()
  const tree = activityTree()
  const events: HookEvent<AnyHookType>[] = []
  dispatcher.use(tree.plugin)
  dispatcher.use({
    name: 'recorder',
    hooks: [...HOOK_TYPES, ...EXTENDED_HOOK_TYPES].map((type) => ({
      id: `record-${type}`,
      type,
      handler: (event: HookEvent<AnyHookType>) => void events.push(event),
    })),
  })
  const of = <T extends AnyHookType>(type: T) =>
    events.filter((event): event is HookEvent<T> => event.hookType === type)
  return { dispatcher, tree, events, of }
}

/** A model call's usage that is easy to add up. */
export const usage = { inputTokens: 100, outputTokens: 10 }
