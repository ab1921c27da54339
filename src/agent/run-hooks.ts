import { HookspanError } from '../internal/errors.ts'
import type { ExecAgentOptions } from './types.ts'

/**
 * The hooks of a run that goes on: those that are given, and those of the run that the dispatcher knows by name.
 *
 * @throws HookspanError `INVALID_STATE` where one is missing.
 */
export function hooksOfRun(
  hookIds: readonly string[],
  { hooks = [], dispatcher }: Pick<ExecAgentOptions, 'hooks' | 'dispatcher'>,
): NonNullable<ExecAgentOptions['hooks']> {
  const given = new Set(hooks.map((hook) => (typeof hook === 'string' ? hook : hook.id)))
  const others = hookIds.filter((id) => !given.has(id))
  const missing = others.filter((id) => dispatcher?.namedHooks.get(id) === undefined)
  if (missing.length > 0) {
    throw new HookspanError(
      'INVALID_STATE',
      `The run was observed by the hook(s) ${missing.join(', ')}, which are missing. Give \`hooks\` with the same ` +
        'ids, or define them in `dispatcher.namedHooks`.',
    )
  }
  return [...hooks, ...others]
}
