import assert from 'node:assert/strict'
import { Worker } from '@temporalio/worker'
import { onCommandLine, scriptedRefunds, writeWorkflows } from './temporal.mjs'

writeWorkflows(command('import { agentWorkflow }'))
const { agent, client, dispatcher, refunded } = scriptedRefunds()

// The snippet waits for as long as its worker works.
onCommandLine(command('temporal workflow start')).then(([, result]) => {
  assert.match(result, /Order 7 is refunded\./)
  assert.deepEqual(refunded, [7])
  process.exit()
})
snippet("import { durableAgent } from 'hookspan/temporal'\n\nconst refunds")
