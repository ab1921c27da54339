import type { HookDispatcher } from 'hookspan'
import { expect } from 'vitest'

export async function all(values: AsyncIterable<unknown>): Promise<unknown[]> {
  const read: unknown[] = []
  for await (const value of values) read.push(value)
  return read
}

/** What a caller sees: values as JSON, errors by class and words. */
export async function seen<T>(use: (of: T) => Promise<unknown>, of: T): Promise<unknown> {
  try {
    return JSON.parse(JSON.stringify((await use(of)) ?? null))
  } catch (error) {
    const { status, message, name } = error as { status?: number; message: string; name: string }
    return { threw: (error as object).constructor.name, name, status, message }
  }
}

/** Every operation is over. */
export const settled = (dispatcher: HookDispatcher) =>
  expect.poll(() => dispatcher.stats().operations).toBe(0)
