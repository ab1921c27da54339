import { ToolResult, tellsFailure, wordsOf } from '../../dispatcher/calls/tool-outcome.ts'
import type { ToolOutcome } from '../../dispatcher/index.ts'
import { asObject, asText, type Loose } from '../../wire/reading.ts'
import { isLocked, replace } from '../replace.ts'
import { unseenTool, warnOfUnseen } from '../unseen.ts'
import type { AdkAgent, AdkCodeExecutor, AdkCodeResult, AdkExecution, AdkInvocation } from './adk.ts'
import type { AgentRun } from './agent-run.ts'
import { openOutcome } from './tool-call.ts'

/** As the calls of the one that Google itself has are told. */
const CODE_EXECUTION = 'code_execution'

/**
 * What an agent's executor of code runs, no tool is asked for: each piece of code is a call of `code_execution`.
 *
 * @returns leaves the executor as it was.
 */
export function observeExecutor(
  executor: AdkCodeExecutor,
  runOf: (context: AdkInvocation | undefined) => AgentRun | undefined,
): () => void {
  const own = executor.executeCode
  return replace(executor, 'executeCode', (asked) => {
    const agent = runOf(asked.invocationContext)
    return agent === undefined ? own.call(executor, asked) : execute(agent, executor, asked, own)
  })
}

/** @throws HookspanError `NOT_CAPABLE` where a gate or a mock is to decide on code that a frozen executor runs. */
export function unseenExecutor({ run }: AgentRun, { name, codeExecutor }: AdkAgent): void {
  if (codeExecutor === undefined || !isLocked(codeExecutor, 'executeCode')) return
  try {
    run.assertInReach([unseenTool(CODE_EXECUTION, 'local')])
  } catch (error) {
    // The SDK tells it by an event, and its run ends as if all were well.
    run.failure = { error }
    throw error
  }
  warnOfUnseen(`the code executor of the agent "${name}"`)
}

async function execute(
  agent: AgentRun,
  executor: AdkCodeExecutor,
  asked: AdkExecution,
  own: AdkCodeExecutor['executeCode'],
): Promise<AdkCodeResult> {
  const { inputFiles, executionId, ...args } = asked.codeExecutionInput
  const outcome = await openOutcome(agent, executor, { apiName: CODE_EXECUTION, args }, async (effective) => {
    const codeExecutionInput = { inputFiles, executionId, ...asObject(effective) }
    const result = await own.call(executor, { ...asked, codeExecutionInput })
    // The SDK takes it for a failure, too.
    return result.stderr ? new ToolResult({ content: result.stderr, success: false, data: result }) : result
  })
  if (outcome.state === 'errored') throw outcome.error
  return resultOf(outcome)
}

/** What the SDK tells the model. */
function resultOf(outcome: ToolOutcome): AdkCodeResult {
  const given: Loose | undefined = 'result' in outcome ? asObject(outcome.result) : undefined
  const isOwn = given !== undefined && (asText(given.stdout) ?? asText(given.stderr)) !== undefined
  const failed = !('result' in outcome) || tellsFailure(outcome)
  const words = wordsOf(outcome)
  const own = { stdout: '', stderr: '', outputFiles: [], ...(isOwn && given) }
  if (isOwn && (words === undefined || words === own.stderr)) return own
  const said = words ?? outcome.toToolMessage().content
  return { stdout: failed ? '' : said, stderr: failed ? said : '', outputFiles: [] }
}
