import { InMemorySpanExporter } from '@opentelemetry/sdk-trace'
import { HookDispatcher } from 'hookspan'
import { startTracing } from 'hookspan/tracing'
import { expect, it } from 'vitest'
import { names } from './names.ts'

it('puts the conversation and the agent on every span of a run, and the provider under its older name', async () => {
  const exporter = new InMemorySpanExporter()
  const tracing = startTracing({ exporter, spanProcessors: [names], flushOnExit: false })
  const dispatcher = new HookDispatcher()
  dispatcher.use(tracing)
  const op = dispatcher.startOperation({ agentName: 'support', conversationId: 'c-1' })
  await op.step(async (step) => {
    await step.llmCall({ model: 'm', provider: 'openai', request: { messages: [] } }, () => ({}))
    await step.toolCall({ apiName: 'find', args: {} }, () => ({}))
    await step.callAgent({ agentName: 'researcher', instruction: 'look' }, async (parent) => {
      const child = dispatcher.startOperation({ agentName: 'researcher', parent })
      await child.step((inner) => inner.toolCall({ apiName: 'read', args: {} }, () => ({})))
      await child.complete()
      return 'done'
    })
  })
  await op.complete()
  await tracing.forceFlush()
  const spans = exporter
    .getFinishedSpans()
    .map(({ name, attributes }) => [
      name,
      attributes['gen_ai.agent.name'],
      attributes['gen_ai.conversation.id'],
      attributes['gen_ai.system'],
    ])
  await tracing.shutdown()
  expect(spans.sort()).toEqual([
    ['chat m', 'support', 'c-1', 'openai'],
    ['execute_tool find', 'support', 'c-1', undefined],
    ['execute_tool read', 'researcher', 'c-1', undefined],
    ['invoke_agent researcher', 'researcher', 'c-1', undefined],
    ['invoke_agent support', 'support', 'c-1', undefined],
    ['step', 'researcher', 'c-1', undefined],
    ['step', 'support', 'c-1', undefined],
  ])
})
