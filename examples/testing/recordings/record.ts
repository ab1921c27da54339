/** Makes refund.json, with a shop that answers as the real one would. Run: node examples/testing/recordings/record.ts */
import { HookDispatcher } from 'hookspan'
import { execAgent } from 'hookspan/agent'
import { callTool, recordTools, redactKeys, scriptedModel } from 'hookspan/mock'
import { support } from '../support-agent.ts'

const answers: Record<string, unknown> = {
  find_order: { id: '7', total: 20, paid: 40, email: 'anna@example.com' },
  refund: { ok: true, refundId: 'r-31' },
}
const agent = {
  ...support,
  tools: (support.tools ?? []).map((tool) => ({ ...tool, execute: async () => answers[tool.name] })),
}
const dispatcher = new HookDispatcher()
const file = `${import.meta.dirname}/refund.json`
const recorder = recordTools(dispatcher, { file, redact: redactKeys(['email']) })
const client = scriptedModel([
  callTool('find_order', { id: '7' }),
  callTool('refund', { id: '7', amount: 20 }),
  'You get 20 € back.',
])
await execAgent({ agent, prompt: 'Order 7 was charged twice', dispatcher, client })
recorder.save()
console.log(`Written to ${file}`)
