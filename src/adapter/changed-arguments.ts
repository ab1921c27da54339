import { canonicalJson } from '../internal/json.ts'

type Problem = string | undefined

/**
 * Calls a tool, unless a gate or a human put in the place of its arguments what its schema does not take: whoever calls it has
 * checked what it is called with, and nothing else. At once, where nothing was changed.
 *
 * @throws Error what does not fit.
 */
export function callIfFit(schema: unknown, before: unknown, now: unknown, call: () => unknown): unknown {
  if (schema === undefined || isSame(before, now)) return call()
  return misfitOf((value) => problemBySchema(schema, value), before, now).then((wrong) => {
    if (wrong === undefined) return call()
    throw new Error(wrong)
  })
}

/**
 * Why a tool cannot have what was put in the place of arguments that were checked before.
 *
 * @param problemOf what is wrong with a value, which it may write into.
 */
export async function misfitOf(
  problemOf: (value: unknown) => Promise<Problem>,
  before: unknown,
  now: unknown,
): Promise<Problem> {
  if (isSame(before, now)) return undefined
  const problem = await problemOf(structuredClone(now))
  // A schema that makes something else of what it takes may not take what it made, which is what was decided on.
  const isTold = problem !== undefined && (await problemOf(structuredClone(before))) === undefined
  return isTold ? `The arguments were changed, and do not fit the schema of the tool: ${problem}` : undefined
}

function isSame(before: unknown, now: unknown): boolean {
  return now === before || canonicalJson(now) === canonicalJson(before)
}

/** What is wrong with a value by JSON Schema or a Standard Schema: nothing, where that cannot be read. */
export async function problemBySchema(schema: unknown, value: unknown): Promise<Problem> {
  // Most processes change nothing, and need no checker.
  const { checkSchema, formatProblems } = await import('../internal/schema/check-schema.ts')
  try {
    const found = await checkSchema(schema, value)
    return found.length === 0 ? undefined : formatProblems(found, 'args')
  } catch {
    return undefined
  }
}
