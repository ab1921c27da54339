import { a, assertFields, expected, type Fields } from '../internal/expect.ts'
import type { MockToolsOptions } from './mock-tools-types.ts'

const FIELDS: Fields<MockToolsOptions> = {
  onUnmocked: a.oneOf('error', 'passthrough', 'warn'),
  tools: a.list,
  schemas: a.oneOf('error', 'off'),
  appliesTo: a.function,
}

/** @throws HookspanError `INVALID_OPTION` naming the value. */
export function assertMockToolsOptions(rules: unknown, options: MockToolsOptions): void {
  assertFields<MockToolsOptions>(options, FIELDS, 'mockTools')
  if (!Array.isArray(rules)) throw expected('a list of rules', rules)
}
