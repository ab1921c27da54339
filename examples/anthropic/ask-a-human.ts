/** A gate asks a human, who answers from another process. The tool runner cannot stop at one call and go on in another process: it waits. */
import { spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import Anthropic from '@anthropic-ai/sdk'
import { HookDispatcher } from 'hookspan'
import { observeAnthropic } from 'hookspan/anthropic'
import { createApprovals, sqliteStore } from 'hookspan/approval'
import { callTool, scriptedFetch } from 'hookspan/mock'
import { requireHuman } from 'hookspan/policies'

const folder = process.argv[2] ?? mkdtempSync(`${tmpdir()}/hookspan-`)
const wake = () => void spawn(process.execPath, [import.meta.filename, folder], { stdio: 'inherit' })
const approvals = createApprovals({
  store: sqliteStore({ path: `${folder}/approvals.db` }),
  channels: [{ name: 'the human', requested: wake }],
})

if (process.argv[2] !== undefined) {
  // The human, in a process of their own: `hookspan approvals approve`, the HTTP routes, or code.
  const [record] = await approvals.list({ status: 'pending' })
  if (record === undefined) throw new Error('Nothing is asked.')
  const { id, apiName, args, argsDigest } = record.request
  console.log(`${apiName} ${JSON.stringify(args)}?`)
  await approvals.respond(id, { decision: 'approve', approver: 'ann', argsDigest })
} else {
  const dispatcher = new HookDispatcher()
  dispatcher.use(approvals)
  dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'delete_*' })] })

  // A scripted model, so that this runs without a key. Leave `fetch` out to talk to the real one.
  const fetch = scriptedFetch({
    steps: [callTool('delete_order', { id: 7 }), { content: 'Order 7 is deleted.' }],
  })
  const client = observeAnthropic(new Anthropic({ apiKey: 'none', fetch }), { dispatcher, agentName: 'shop' })
  const delete_order = {
    name: 'delete_order',
    description: 'Deletes an order.',
    input_schema: { type: 'object' as const },
    run: () => {
      console.log('the tool runs')
      return 'deleted'
    },
  }
  const said = await client.beta.messages.toolRunner({
    model: 'claude-opus-5',
    max_tokens: 1000,
    messages: [{ role: 'user', content: 'Delete order 7.' }],
    tools: [delete_order],
  })
  console.log(said.content.map((block) => (block.type === 'text' ? block.text : '')).join(''))
}
