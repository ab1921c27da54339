import { describeValue, HookspanError } from '../internal/errors.ts'
import type { MockToolsOptions } from './mock-tools-types.ts'

/** @throws HookspanError `INVALID_OPTION` naming the value. */
export function assertMockToolsOptions(
  rules: unknown,
  { onUnmocked = 'error', schemas = 'error' }: MockToolsOptions,
): void {
  if (!['error', 'passthrough', 'warn'].includes(onUnmocked)) {
    throw invalid(
      `Expected \`onUnmocked\` to be "error", "passthrough" or "warn", got ${describeValue(onUnmocked)}`,
    )
  }
  if (!['error', 'off'].includes(schemas)) {
    throw invalid(`Expected \`schemas\` to be "error" or "off", got ${describeValue(schemas)}`)
  }
  if (!Array.isArray(rules)) throw invalid(`Expected a list of rules, got ${describeValue(rules)}`)
}

function invalid(message: string): HookspanError {
  return new HookspanError('INVALID_OPTION', `${message}.`)
}
