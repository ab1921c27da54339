import { Command } from 'commander'
import { registerDiff } from './commands/diff.ts'
import { registerRuns } from './commands/runs.ts'
import { registerShow } from './commands/show.ts'
import { registerTail } from './commands/tail.ts'
import { registerView } from './commands/view.ts'

export function createProgram(): Command {
  const program = new Command('hookspan').description('see, test and control the lifecycle of LLM agents')
  for (const register of [registerView, registerRuns, registerShow, registerDiff, registerTail])
    register(program)
  return program
}
