import assert from 'node:assert/strict'
import { setTracingDisabled } from '@openai/agents'
import { HookDispatcher } from 'hookspan'
import { startScriptedServer } from 'hookspan/mock'
import { runOnRestate } from './engine.mjs'

const server = await startScriptedServer({ steps: [{ content: 'Order 7 is on its way.' }] })
Object.assign(process.env, { OPENAI_BASE_URL: server.baseURL, OPENAI_API_KEY: 'none' })
setTracingDisabled(true)
const dispatcher = new HookDispatcher()
snippet('import * as agents')

assert.match(JSON.stringify(await runOnRestate(support, { prompt: 'Where is order 7?' })), /on its way/)
process.exit()
