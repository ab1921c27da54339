import { isToolStep, stepsOf } from '../adapters/mastra/steps.ts'
import { currentCalls } from '../dispatcher/index.ts'
import type { Loaded } from './module-hooks.ts'
import { tell } from './tell.ts'

interface Workflow {
  readonly id?: unknown
  createRun(...args: unknown[]): unknown
}

/**
 * Workflows of Mastra that no agent calls are told of when they are to run tools: nothing tells of those, and no gate and
 * no mock holds on them. Refusing them would refuse what the program may have wrapped by itself.
 */
export function loneWorkflows(className: string) {
  return (exports: Loaded['exports']): undefined => {
    const { prototype } = exports[className] as { prototype: Workflow }
    const { createRun } = prototype
    prototype.createRun = function (this: Workflow, ...args) {
      const runsTools = () => [...stepsOf(this)].some(([step]) => isToolStep(step))
      if (currentCalls() === undefined && runsTools()) {
        tell(
          `the tools of workflow "${String(this.id)}" of @mastra/core are not attached: no agent calls it. Put them in wrapTools() of hookspan/adapter.`,
        )
      }
      return createRun.apply(this, args)
    }
  }
}
