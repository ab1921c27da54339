import { isRecord } from '../../internal/objects.ts'
import type { MastraWorkflow } from './sdk.ts'

/** What a workflow keeps of one of its steps. */
export type Step = Readonly<Record<string, unknown>>

/** Of the workflow whose steps they are. */
export interface Around {
  /** Its engine runs it elsewhere, on events: nobody knows there whose run it is. */
  readonly isApart?: boolean
  readonly mastra?: MastraWorkflow['mastra']
}

/** Those of a workflow, and of the workflows in it: each once. */
export function* stepsOf(
  entries: unknown,
  around: Around = {},
  seen = new Set<unknown>(),
): Generator<[Step, Around]> {
  if (seen.has(entries)) return
  seen.add(entries)
  for (const entry of Array.isArray(entries) ? entries : [entries]) {
    if (!isRecord(entry)) continue
    const { step, steps, workflow, stepFlow } = entry
    const here = stepFlow === undefined ? around : aroundOf(entry, around)
    yield [entry, here]
    for (const inner of [step, steps, workflow, stepFlow]) {
      if (inner !== undefined && typeof inner === 'object') yield* stepsOf(inner, here, seen)
    }
  }
}

function aroundOf({ engineType = 'default', mastra }: MastraWorkflow, outer: Around): Around {
  return { isApart: outer.isApart || engineType !== 'default', mastra: mastra ?? outer.mastra }
}

/** Whether the step is a tool, as far as it says so. */
export function isToolStep({ tool, __toolRef: named, toolId, component }: Step): boolean {
  return isRecord(tool ?? named) || typeof toolId === 'string' || component === 'TOOL'
}
