/** A human is asked before a dangerous tool runs; the model is told what became of it. */
import { createInterface } from 'node:readline/promises'
import { HookDispatcher } from 'hookspan'
import { requireApproval } from 'hookspan/gates'

const dispatcher = new HookDispatcher()
dispatcher.use({
  name: 'careful',
  gates: [{ id: 'ask', point: 'beforeToolCall', match: 'delete_*', decide: () => requireApproval() }],
  approver: {
    async requestApproval({ apiName, args }, { signal }) {
      const terminal = createInterface({ input: process.stdin, output: process.stdout })
      const question = terminal.question(`Run ${apiName} with ${JSON.stringify(args)}? (y/n) `, { signal })
      const answer = await question.finally(() => terminal.close())
      return answer === 'y'
        ? { decision: 'approve', approver: 'me' }
        : { decision: 'reject', reason: 'not today' }
    },
  },
})

const op = dispatcher.startOperation({ agentName: 'janitor' })
const call = { apiName: 'delete_branch', args: { name: 'main' } }
const outcome = await op.step((step) => step.toolCall(call, () => 'deleted'))
console.log(outcome.state, outcome.toToolMessage().content)
await op.complete()
