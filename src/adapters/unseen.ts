import type { ToolOutOfReach } from '../dispatcher/index.ts'
import type { AdapterInfo } from '../dispatcher/run/capabilities.ts'
import { warnOnce } from './warn-once.ts'

/** A tool that nothing of ours can be put into: nobody would be asked. */
export function unseenTool(name: string, identifier: string): ToolOutOfReach {
  return { name, identifier, ranBy: 'sdk' }
}

/** What can be done where nothing of ours can be put into the model. */
export function withUnseenModel({ name, capabilities }: AdapterInfo): AdapterInfo {
  return {
    name: `${name} (a model that is frozen)`,
    capabilities: { ...capabilities, decideLlmCalls: false },
  }
}

/** To be said once nothing that was to decide is left out by it. */
export function warnOfUnseen(what: string): void {
  warnOnce(`hookspan: ${what} is frozen: its calls make no hooks and no spans. Hand the SDK one that is not.`)
}
