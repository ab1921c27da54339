import { canonicalJson } from '../internal/json.ts'
import { checkSchema, formatProblems } from '../internal/schema/check-schema.ts'

/**
 * Calls a tool, unless a gate or a human put in the place of its arguments what its schema does not take: whoever calls it has
 * checked what it is called with, and nothing else.
 *
 * @throws Error what does not fit.
 */
export function callIfFit(schema: unknown, before: unknown, now: unknown, call: () => unknown): unknown {
  if (schema === undefined || now === before || canonicalJson(now) === canonicalJson(before)) return call()
  const problem = problemOf(schema, now)
  // A schema that makes something else of what it takes may not take what it made, which is what was decided on.
  const problemBefore = problem === undefined ? undefined : problemOf(schema, before)
  const decided = (wrong: string | undefined, wasWrong: string | undefined) => {
    if (wrong === undefined || wasWrong !== undefined) return call()
    throw new Error(`The arguments were changed, and do not fit the schema of the tool: ${wrong}`)
  }
  return problem instanceof Promise || problemBefore instanceof Promise
    ? Promise.all([problem, problemBefore]).then(([wrong, wasWrong]) => decided(wrong, wasWrong))
    : decided(problem, problemBefore)
}

/** What a value is not taken for: nothing, where the schema cannot be read. */
function problemOf(schema: unknown, value: unknown): string | undefined | Promise<string | undefined> {
  try {
    // The schema may write into what it is given.
    const found = checkSchema(schema, structuredClone(value))
    return found instanceof Promise ? found.then(textOf, () => undefined) : textOf(found)
  } catch {
    return undefined
  }
}

function textOf(found: Parameters<typeof formatProblems>[0]): string | undefined {
  return found.length === 0 ? undefined : formatProblems(found, 'args')
}
