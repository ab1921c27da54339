/** A human is asked before a dangerous tool runs; the model is told what became of it. */
import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { HookDispatcher } from 'hookspan'
import { requireApproval } from 'hookspan/gates'

// One question after the other: calls may ask at once, and a `y` is meant for one of them.
let last: Promise<unknown> = Promise.resolve()
function ask(question: string, signal: AbortSignal): Promise<string> {
  const answer = last.then(async () => {
    // Nobody is there any more: a question would wait for ever.
    if (process.stdin.readableEnded) return 'n'
    const terminal = createInterface({ input: process.stdin, output: process.stdout })
    const nobody = once(terminal, 'close').then(() => 'n')
    return Promise.race([terminal.question(question, { signal }), nobody]).finally(() => terminal.close())
  })
  last = answer.catch(() => {})
  return answer
}

const dispatcher = new HookDispatcher()
dispatcher.use({
  name: 'careful',
  gates: [{ id: 'ask', point: 'beforeToolCall', match: 'delete_*', decide: () => requireApproval() }],
  approver: {
    async requestApproval({ apiName, args }, { signal }) {
      // Characters that do not show, or turn the line around, are written out.
      const shown = JSON.stringify(args).replaceAll(/\p{C}/gu, encodeURIComponent)
      return (await ask(`Run ${apiName} with ${shown}? (y/n) `, signal)) === 'y'
        ? { decision: 'approve', approver: 'me' }
        : { decision: 'reject', reason: 'not today' }
    },
  },
})

const op = dispatcher.startOperation({ agentName: 'janitor' })
await op.step(async (step) => {
  const remove = (name: string) =>
    step.toolCall({ apiName: 'delete_branch', args: { name } }, () => `${name} is deleted`)
  for (const outcome of await Promise.all([remove('old'), remove('main')]))
    console.log(outcome.state, outcome.toToolMessage().content)
})
await op.complete()
