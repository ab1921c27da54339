import { ToolResult } from 'hookspan'
import { requireApproval } from 'hookspan/gates'
import { type ExpectedSpan, matchSpans } from 'hookspan/mock'
import { expect, it } from 'vitest'
import { spansFrom } from './sources.ts'

type Work = Parameters<typeof spansFrom>[0]

/** One expectation, said of the spans of each source. */
async function expectEverywhere(work: Work, expected: readonly ExpectedSpan[]): Promise<void> {
  const { tracer, vitest, events, saved } = await spansFrom(work)
  for (const source of [tracer, vitest, vitest.toJSON(), events, saved]) {
    const { pass, report } = matchSpans(source, expected)
    expect(pass, report).toBe(true)
  }
}

it('says the same of a tool that returned an error, wherever its span comes from', async () => {
  const failing = () => new ToolResult({ content: 'no such order', success: false })
  await expectEverywhere(
    async (dispatcher) => {
      const op = dispatcher.startOperation({ agentName: 'support' })
      await op.step((step) => step.toolCall({ apiName: 'find_order', args: { id: 7 } }, failing))
      await op.complete()
    },
    [
      {
        name: 'execute_tool find_order',
        kind: 'internal',
        failed: true,
        parent: 'step 0',
        attributes: {
          'error.type': 'tool_error',
          'gen_ai.agent.name': 'support',
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': 'find_order',
          'gen_ai.tool.type': 'function',
          'gen_ai.tool.call.id': 'call-0',
          'gen_ai.tool.call.arguments': '{"id":7}',
          'gen_ai.tool.call.result': '{"content":"no such order"}',
          'hookspan.call.key': 'call-0',
          'hookspan.tool.identifier': 'local',
          'hookspan.tool.source': 'local',
          'hookspan.tool.outcome': 'completed',
          'hookspan.tool.success': false,
          'hookspan.tool.mocked': false,
        },
      },
    ],
  )
})

it('says the same of a remote sub-agent, a human and the gate that asked', async () => {
  await expectEverywhere(
    async (dispatcher) => {
      const op = dispatcher.startOperation({
        agentName: 'support',
        gates: [
          { id: 'ask', point: 'beforeCallAgent', decide: () => requireApproval({ instructions: 'May it?' }) },
          { id: 'far', point: 'beforeCallAgent', runtime: 'http', decide: () => undefined },
        ],
        approver: { requestApproval: async () => ({ decision: 'approve', approver: 'kim' }) },
      })
      const init = { agentName: 'researcher', instruction: 'look', remote: true }
      await op.callAgent(init, async () => ({ content: 'found', usage: { inputTokens: 3, outputTokens: 4 } }))
      await op.complete()
    },
    [
      {
        name: 'invoke_agent researcher',
        kind: 'client',
        attributes: {
          'hookspan.instruction': 'look',
          'hookspan.operation.input_tokens': 3,
          'gen_ai.output.messages': expect.stringContaining('"content":"found"'),
        },
      },
      {
        name: 'human_intervention',
        parent: 'invoke_agent researcher',
        attributes: { 'hookspan.human.tools': ['researcher'], 'hookspan.human.instructions': 'May it?' },
      },
      {
        name: 'gate far',
        parent: 'invoke_agent researcher',
        attributes: { 'hookspan.gate.point': 'beforeCallAgent', 'hookspan.gate.decision': 'proceed' },
      },
    ],
  )
})
