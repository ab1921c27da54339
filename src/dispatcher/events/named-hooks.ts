import { assertHook } from '../../hooks/agent-hook.ts'
import type { AgentHook } from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { expected } from '../../internal/expect.ts'

/** Hooks that a process knows by their ids: functions cannot be saved with a run, names can. */
export class NamedHooks {
  readonly #hooks = new Map<string, AgentHook>()

  /** @throws HookspanError `INVALID_HOOK`, or `DUPLICATE_HOOK` when an id stands for another hook already. */
  define(hooks: readonly AgentHook[]): void {
    if (!Array.isArray(hooks)) throw expected('the hooks to define to be a list', hooks, 'INVALID_HOOK')
    for (const hook of hooks) {
      assertHook(hook)
      const known = this.#hooks.get(hook.id)
      if (known !== undefined && known !== hook) {
        throw new HookspanError(
          'DUPLICATE_HOOK',
          `Hook id "${hook.id}" stands for another hook already. Give it an id of its own.`,
        )
      }
    }
    for (const hook of hooks) this.#hooks.set(hook.id, hook)
  }

  get(id: string): AgentHook | undefined {
    return this.#hooks.get(id)
  }

  /**
   * Hooks in the places of their names.
   *
   * @throws HookspanError `INVALID_HOOK` for a name that nothing stands for.
   */
  resolve(hooks: readonly (AgentHook | string)[]): AgentHook[] {
    if (!Array.isArray(hooks)) throw expected('the hooks to resolve to be a list', hooks, 'INVALID_HOOK')
    return hooks.map((hook) => {
      if (typeof hook !== 'string') return hook
      const named = this.#hooks.get(hook)
      if (named !== undefined) return named
      const known = [...this.#hooks.keys()].join(', ') || 'none'
      throw new HookspanError(
        'INVALID_HOOK',
        `No hook is defined as "${hook}". Defined: ${known}. Call dispatcher.namedHooks.define() first.`,
      )
    })
  }
}
