import type { ParkedOperation } from '../../dispatcher/index.ts'

const runs = new WeakMap<object, Promise<ParkedOperation | undefined>>()

/** Remembers which run a result is of. */
export function rememberRun(result: unknown, parked: Promise<ParkedOperation | undefined>): void {
  if (typeof result === 'object' && result !== null) runs.set(result, parked)
}

/**
 * What continues the run of a result that waits for a human, as plain JSON; undefined when it waits for nobody. Of a
 * stream it is there when all of it was read. Keep it with what the SDK itself goes on from, and go on in any process:
 *
 * @example
 * const parked = await parkedRun(result)
 * if (parked !== undefined) await save({ parked, messages: [...messages, ...result.response.messages] })
 * // later
 * const { parked, messages } = await load()
 * const result = await runWith({ resume: parked }, () => generateText({ model, tools, messages }))
 */
export async function parkedRun(result: object): Promise<ParkedOperation | undefined> {
  return runs.get(result)
}
