/** What the Temporal programs of docs/durable-engines.md share: the file of workflows, and a run, begun on the command line. */
import { execFile } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { HookDispatcher } from 'hookspan'
import { scriptedFetch } from 'hookspan/mock'
import OpenAI from 'openai'

/** Writes the block of workflows to the file that the worker bundles. */
export function writeWorkflows(block) {
  // The engines are installed in a folder of their own.
  symlinkSync(process.env.ENGINES, 'node_modules')
  writeFileSync('workflows.ts', `import * as workflow from '@temporalio/workflow'\n${block}\n`)
}

/** Runs the commands of the page, one after the other. @returns what they print */
export async function onCommandLine(commands) {
  const said = []
  for (const line of commands.split('\n')) {
    const { stdout } = await promisify(execFile)('bash', ['-c', `${line} --output json`])
    said.push(stdout)
  }
  return said
}

/** The agent of the page, its model scripted; `refunded`: what its tool was called with. */
export function scriptedRefunds() {
  const dispatcher = new HookDispatcher()
  const refunded = []
  const tool = { name: 'refund', execute: ({ id }) => void refunded.push(id) }
  const agent = { name: 'refunds', model: 'scripted', tools: [tool] }
  // It may be asked again, where nobody knows whether it has answered.
  const respond = ({ messages }) =>
    messages.at(-1).role === 'tool'
      ? { content: 'Order 7 is refunded.' }
      : { toolCalls: [{ name: 'refund', arguments: { id: 7 } }] }
  const client = new OpenAI({ apiKey: 'none', fetch: scriptedFetch({ respond }) })
  return { agent, client, dispatcher, refunded }
}
