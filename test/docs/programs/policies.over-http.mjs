import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { HookDispatcher } from 'hookspan'
import { serveHooks } from 'hookspan/policies'
import { portOf, sent } from './outside.mjs'

process.env.OPS_TOKEN = 'the token that ops holds'
const dispatcher = new HookDispatcher()
snippet('const server')

// curl comes to the port of the page, wherever that is here.
writeFileSync('.curlrc', `silent\nconnect-to = "127.0.0.1:4320:127.0.0.1:${portOf(4320)}"\n`)
const env = { ...process.env, CURL_HOME: process.cwd(), HOME: process.cwd() }
const { stdout } = await promisify(execFile)('bash', ['-c', command('curl -X PUT')], { env })
assert.match(stdout, /"costs"/)

const op = dispatcher.startOperation({ agentName: 'page', operationId: 'run-1' })
await op.complete()
while (sent.length === 0) await new Promise(setImmediate)
await server.close()
const [{ url, body }] = sent
assert.equal(url, 'https://a.ops.example/runs')
const { type, event } = JSON.parse(body.toString())
assert.deepEqual([type, Object.keys(event).sort()], ['onComplete', ['operationId', 'reason', 'totals']])
