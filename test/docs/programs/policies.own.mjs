import assert from 'node:assert/strict'
import { HookDispatcher } from 'hookspan'
import { deny } from 'hookspan/gates'

const dispatcher = new HookDispatcher()
snippet('const noWeekends')

/** A day of the week, as far as the gate can tell. */
const onDay = async (day) => {
  const { getDay } = Date.prototype
  Date.prototype.getDay = () => day
  try {
    const op = dispatcher.startOperation({ agentName: 'page' })
    const { state, code } = await op.toolCall({ apiName: 'call_customer', args: {} }, () => 'called')
    await op.complete()
    return code ?? state
  } finally {
    Date.prototype.getDay = getDay
  }
}
assert.deepEqual([await onDay(6), await onDay(0), await onDay(3)], ['weekend', 'weekend', 'completed'])
