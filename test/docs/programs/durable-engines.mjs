import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import * as restate from '@restatedev/restate-sdk'
import { callTool, scriptedModel } from 'hookspan/mock'

const refunded = []
const tool = { name: 'refund', execute: ({ id }) => void refunded.push(id) }
const agent = { name: 'refunds', model: 'scripted', tools: [tool] }
const client = scriptedModel([callTool('refund', { id: 7 }), 'Order 7 is refunded.'])
snippet('import { HookDispatcher }')

const [deployments, begin, output] = command('curl localhost:9070').split('\n')
writeFileSync('.curlrc', 'silent\n')
const env = { ...process.env, CURL_HOME: process.cwd() }
const curl = async (line) => JSON.parse((await promisify(execFile)('bash', ['-c', line], { env })).stdout)
assert.match(JSON.stringify(await curl(deployments)), /"name":"refunds"/)
assert.match((await curl(begin)).invocationId, /^inv_/)
let run = await curl(output)
// Until it has ended, the answer is that it has not.
for (; run.status === undefined; run = await curl(output)) await new Promise(setImmediate)
assert.deepEqual([run.status, run.content, refunded], ['done', 'Order 7 is refunded.', [7]])
process.exit()
