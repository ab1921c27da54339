import { assertHook } from '../hooks/agent-hook.ts'
import type { AgentHook, AnyHookType, HookContext, HookEvent } from '../hooks/index.ts'
import { a, assertFields, expected, type Fields, named, required } from '../internal/expect.ts'
import { safeStringify } from '../internal/json.ts'
import { defined } from '../internal/objects.ts'
import { type CommandProgram, environmentOf, PROGRAM_FIELDS, programOf } from './command-program.ts'
import { runCommand } from './run-command.ts'
import { assertTold, TOLD_FIELDS, type ToldFields, toldEvent } from './told-event.ts'

export interface CommandHooksOptions<T extends AnyHookType = AnyHookType>
  extends CommandProgram,
    ToldFields<T> {
  /** Unique within the operation. */
  id: string
  /** At least one. */
  types: readonly T[]
  match?: NonNullable<AgentHook<T>['match']>
  /** Milliseconds the command may take; past it its process group is killed. @default 30_000 */
  timeoutMs?: number
  /** Events that may wait for it, per operation and type; past it the oldest are dropped and reported. @default 1_000 */
  maxPending?: number
}

export const COMMAND_HOOKS: Fields<CommandHooksOptions> = {
  ...PROGRAM_FIELDS,
  ...TOLD_FIELDS,
  id: required(a.name),
  types: required(a.strings),
  match: a.value,
  timeoutMs: a.milliseconds,
  maxPending: a.integer(1),
}

/** What it writes is read, so that it can go on, and thrown away. */
const MAX_OUTPUT_BYTES = 1_048_576

/**
 * Hooks that are a program: one for each type, named `<id>:<type>`, for the `hooks` of a plugin. The program is started for
 * each event, without a shell, and reads `{ id, type, event }` as JSON on its standard input. It observes: the agent never
 * waits for it, what it writes changes nothing, and an exit code other than 0 is reported as the failure of a hook.
 *
 * @throws HookspanError `INVALID_OPTION`, `INVALID_HOOK`.
 * @example
 * dispatcher.use({ name: 'audit', hooks: commandHooks({ id: 'audit', types: ['onComplete'], command: './audit.sh' }) })
 */
export function commandHooks<T extends AnyHookType>(options: CommandHooksOptions<T>): AgentHook<T>[] {
  const owner = named('command', options)
  assertFields<CommandHooksOptions<T>>(options, COMMAND_HOOKS, owner)
  const { id, types, match, timeoutMs, maxPending } = options
  if (types.length === 0 || new Set(types).size < types.length) {
    throw expected(`\`types\` of ${owner} to be types of events, each once`, types)
  }
  const program = programOf(options, owner)
  assertTold(options, owner)
  return types.map((type) => {
    const handler = async (event: HookEvent<T>, { signal, traceparent }: HookContext): Promise<void> => {
      const { operationId, sequence } = event
      await runCommand({
        ...{ ...program, signal, maxOutputBytes: MAX_OUTPUT_BYTES },
        env: environmentOf(options, traceparent),
        stdin: safeStringify({
          id: `${operationId}.${sequence}.${id}`,
          type,
          event: toldEvent(event, options),
        }),
      })
    }
    // A tool call waits for hooks that may mock: this one never does.
    const mocks = type === 'beforeToolCall' ? false : undefined
    const hook = { ...defined({ id: `${id}:${type}`, type, match, timeoutMs, maxPending, mocks }), handler }
    assertHook(hook)
    return hook as unknown as AgentHook<T>
  })
}
