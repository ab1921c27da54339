/** A gate asks a human, who answers from another process. Automatic function calling cannot stop at one call and go on in another process: it waits. */
import { spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { type CallableTool, GoogleGenAI } from '@google/genai'
import { HookDispatcher } from 'hookspan'
import { createApprovals, sqliteStore } from 'hookspan/approval'
import { observeGoogleGenAI } from 'hookspan/google-genai'
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
  const google = new GoogleGenAI({ apiKey: 'none', httpOptions: { fetch } as never })
  const ai = observeGoogleGenAI(google, { dispatcher, agentName: 'shop' })
  const orders: CallableTool = {
    tool: async () => ({ functionDeclarations: [{ name: 'delete_order' }] }),
    callTool: async () => {
      console.log('the tool runs')
      return [{ functionResponse: { name: 'delete_order', response: { output: 'deleted' } } }]
    },
  }
  const { text } = await ai.models.generateContent({
    model: 'gemini-3.8-flash',
    contents: 'Delete order 7.',
    config: { tools: [orders] },
  })
  console.log(text)
}
