import { HookDispatcher } from 'hookspan'
import { requireHuman, toolPolicy } from 'hookspan/policies'

const dispatcher = new HookDispatcher()
const gates = [toolPolicy({ deny: ['drop_*'] }), requireHuman({ match: 'delete_*' })]
dispatcher.use({ name: 'careful', gates })

const op = dispatcher.startOperation({ agentName: 'janitor' })
for (const apiName of ['list_branches', 'delete_branch', 'drop_table']) {
  const outcome = await op.step((step) => step.toolCall({ apiName, args: {} }, () => 'done'))
  console.log(outcome.toToolMessage().content)
}
await op.complete()
