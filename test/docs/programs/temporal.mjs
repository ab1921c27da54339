/** What the Temporal programs of docs/durable-engines.md share: the file of workflows, and a run, begun on the command line. */
import { execFile } from 'node:child_process'
import { symlinkSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'

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
