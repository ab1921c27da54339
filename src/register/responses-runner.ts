import type * as Seam from '../adapter/index.ts'
import type { HookDispatcher } from '../dispatcher/index.ts'
import type { Loaded } from './module-hooks.ts'
import { requireOwn } from './require-own.ts'
import { scriptName } from './run-bounds.ts'
import { attached, notAttached } from './unattached.ts'

type RunnerClass = new (...args: unknown[]) => object

interface RunnerTools {
  readonly functions?: readonly { readonly tool?: { readonly name?: unknown } }[]
  readonly browser?: unknown
  readonly computer?: unknown
}

/** `ResponsesToolRunner` of `openai`, which has its functions before it knows a client: they are tool calls. */
export function decidingRunner(
  exports: Loaded['exports'],
  { dispatcher }: { readonly dispatcher: HookDispatcher },
): Loaded['exports'] {
  return {
    ResponsesToolRunner: new Proxy(exports.ResponsesToolRunner as RunnerClass, {
      construct: (own, [tools, ...more], made) =>
        Reflect.construct(own, [decidedOn(tools as RunnerTools, dispatcher), ...more], made),
    }),
  }
}

function decidedOn(tools: RunnerTools, dispatcher: HookDispatcher): RunnerTools {
  const { functions, browser, computer } = tools ?? {}
  for (const [name, toolset] of Object.entries({ browser, computer }))
    if (toolset !== undefined)
      notAttached(
        dispatcher,
        `the ${name} of a ResponsesToolRunner is not attached: hookspan knows its functions.`,
      )
  // What is no list, or no function in it, the runner itself refuses.
  if (!Array.isArray(functions)) return tools
  const { wrapTools } = requireOwn<typeof Seam>('../adapter/index.js')
  const options = { dispatcher, agentName: scriptName(), onRefused: 'tell' } as const
  const value = functions.map((own) => {
    const name = own?.tool?.name
    if (typeof name !== 'string') return own
    let wrapped = own
    attached(`the function "${name}"`, dispatcher, () => {
      wrapped = wrapTools({ [name]: own }, options)[name] ?? own
    })
    return wrapped
  })
  // All else stays where it is, also what is inherited.
  return Object.create(tools, { functions: { value, enumerable: true } }) as RunnerTools
}
