// A tool call waits for a hanging handler that might mock, and then for nothing: not for the handlers' time limits.
import { HookDispatcher } from 'hookspan'

const dispatcher = new HookDispatcher({ mockTimeoutMs: 50, onHookError: () => {} })
const timeoutMs = 600_000
const hang = () => new Promise<void>(() => {})
const op = dispatcher.startOperation({
  hooks: [
    { id: 'before', type: 'beforeToolCall', handler: hang },
    { id: 'after', type: 'afterToolCall', handler: hang, timeoutMs },
  ],
})
const outcome = await op.toolCall({ apiName: 'search', args: {} }, () => 'real')
console.log(`tool ran: ${'result' in outcome && outcome.result}`)
