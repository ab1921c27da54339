const MARK = Symbol.for('hookspan: what a tool threw')

/** What a tool says in its result, where it says that it failed. Known by a mark, which is kept in a durable run. */
export class ToolFailure extends Error {
  readonly [MARK] = true
}

export function isToolFailure(error: unknown): boolean {
  return typeof error === 'object' && error !== null && MARK in error
}
