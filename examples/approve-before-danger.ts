/** A human is asked before a dangerous tool runs; the model is told what became of it. */
import { createInterface } from 'node:readline/promises'
import { HookDispatcher } from 'hookspan'
import { requireApproval } from 'hookspan/gates'

const dispatcher = new HookDispatcher()

dispatcher.use({
  name: 'careful',
  gates: [
    {
      id: 'ask-before-delete',
      point: 'beforeToolCall',
      decide: (ctx) =>
        ctx.apiName?.startsWith('delete_') ? requireApproval({ timeoutMs: 60_000 }) : undefined,
    },
  ],
  approver: {
    async requestApproval(request, { signal }) {
      const answer = await ask(`Run ${request.apiName} with ${JSON.stringify(request.args)}? (y/n) `, signal)
      return answer === 'y'
        ? { decision: 'approve', approver: 'me' }
        : { decision: 'reject', reason: 'not today' }
    },
  },
})

const op = dispatcher.startOperation({ agentName: 'janitor' })
const outcome = await op.step((step) =>
  step.toolCall({ apiName: 'delete_branch', args: { name: 'main' } }, () => 'deleted'),
)
console.log(outcome.state, outcome.toToolMessage().content)
await op.complete()

async function ask(question: string, signal: AbortSignal): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return (await terminal.question(question, { signal })).trim()
  } finally {
    terminal.close()
  }
}
