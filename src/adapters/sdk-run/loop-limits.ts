/** Why a run ended that its model would have gone on with. */
export type ReachedLimit = 'max_steps' | 'cost_limit'

/** Of OpenAI Agents, of LangGraph, and of the middleware of LangChain that limits model calls and tool calls. */
const STEP_LIMITS = [
  'MaxTurnsExceededError',
  'GraphRecursionError',
  'ModelCallLimitMiddlewareError',
  'ToolCallLimitExceededError',
]

/** Whether an SDK throws this at the limit of its loop: the run was ended, and nothing of it failed. */
export function isStepLimit(error: unknown): boolean {
  return error instanceof Error && STEP_LIMITS.includes(error.name)
}

interface LimitedRun {
  limit: ReachedLimit | undefined
  readonly isStopped: boolean
}

type StopCondition = (options: never) => unknown

/**
 * The user's conditions under which a loop of the AI SDK ends, and that a gate has ended it: after the step, with its result.
 * They are asked only where the loop would go on. The run notes where nothing but a number of steps has ended it.
 */
export function stopConditions(run: LimitedRun, own: unknown): StopCondition[] {
  const conditions = [own].flat() as StopCondition[]
  const asked = async (options: never) => {
    const said = await Promise.all(conditions.map((condition) => condition(options)))
    const met = conditions.filter((_condition, index) => said[index])
    if (met.length > 0 && met.every(counts)) run.limit = 'max_steps'
    return met.length > 0
  }
  return [asked, () => run.isStopped]
}

/** Whether it looks at how many steps there are and at nothing else. Only its source can say so. */
function counts(condition: StopCondition): boolean {
  return COUNTS.test(Function.prototype.toString.call(condition))
}

/** `isStepCount(n)`, the default of `ToolLoopAgent`, and what users write alike; also once it is bundled. */
const COUNTS =
  /^\(?\{\s*steps(?:\s*:\s*\w+)?,?\s*\}\)?\s*=>\s*(?:\{\s*(?:return\s+|if\s*\())?\w+\.length\s*[!=<>]=?=?\s*[\w.]+\s*(?:;?\s*\}?$|\)\s*return\s*(?:false|!1))/
