import { resolve } from 'node:path'
import type { AgentHook, AnyHookType } from '../../hooks/index.ts'
import { WEBHOOK_FIELDS } from '../../internal/http/webhook-sender.ts'
import { defined } from '../../internal/objects.ts'
import { COMMAND_HOOKS, commandHooks } from '../command-hook.ts'
import { webhookHook, webhookHooks } from '../webhook-hook.ts'
import { inFile, programIn } from './gate-types.ts'

interface HookKind {
  readonly options: readonly string[]
  create(entry: { id: string; on?: unknown }, folder: string): AgentHook[]
}

/** What a file's entry of `hooks` can be. */
export const HOOK_KINDS: Readonly<Record<string, HookKind>> = {
  webhook: {
    options: ['id', 'match', 'fields', 'protocol', ...Object.keys(WEBHOOK_FIELDS)],
    create: ({ on, ...entry }, folder) => {
      const { deadLetterPath } = entry as { deadLetterPath?: unknown }
      const path = typeof deadLetterPath === 'string' ? resolve(folder, deadLetterPath) : deadLetterPath
      const options = { ...entry, ...defined({ deadLetterPath: path }) }
      return Array.isArray(on)
        ? webhookHooks({ ...options, types: on } as never)
        : [webhookHook({ ...options, type: on as AnyHookType } as never)]
    },
  },
  command: {
    options: inFile(COMMAND_HOOKS).filter((name) => name !== 'types'),
    create: ({ on, ...options }, folder) =>
      commandHooks({ ...programIn(options, folder), types: [on].flat() } as never),
  },
}

/** Fields of every entry. */
export const HOOK_FIELDS = ['type', 'enabled', 'on']
