import { toolPolicy } from 'hookspan/policies'
import { expect, it } from 'vitest'
import { traced } from '../support/span-tree.ts'

// What docs/backends/*.md say of the spans that others count and group by.

it('has what backends count calls by on those calls alone, and the conversation on runs and calls of models', async () => {
  using setup = traced({}, { priceOf: () => 0.25 })
  setup.dispatcher.use({ name: 'careful', gates: [toolPolicy({ deny: ['drop_*'] })] })
  const op = setup.dispatcher.startOperation({ agentName: 'support', conversationId: 'c-1' })
  await op.step(async (step) => {
    const reply = {
      model: 'm',
      choices: [{ message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 11, completion_tokens: 5 },
    }
    await step.llmCall({ model: 'm', provider: 'openai', request: { messages: [] } }, () => reply)
    await step.toolCall({ apiName: 'find', args: {} }, () => ({}))
    await step.toolCall({ apiName: 'drop_table', args: {} }, () => ({}))
    await step.compact({ messageCount: 2, tokenCount: 9 }, () => ({
      summary: 's',
      messagesAfter: 1,
      tokensAfter: 1,
    }))
  })
  await op.complete()
  const carriers = (name: string) =>
    setup
      .spans()
      .filter(({ attributes }) => name in attributes)
      .map((span) => span.name)
  expect({
    model: carriers('gen_ai.request.model'),
    tool: carriers('gen_ai.tool.name').sort(),
    tokens: carriers('gen_ai.usage.input_tokens'),
    cost: carriers('gen_ai.usage.cost'),
    conversation: carriers('gen_ai.conversation.id').sort(),
    agent: carriers('gen_ai.agent.name').sort(),
    older: carriers('gen_ai.system'),
    failed: carriers('error.type'),
  }).toEqual({
    model: ['chat m'],
    tool: ['execute_tool drop_table', 'execute_tool find'],
    tokens: ['chat m'],
    cost: ['chat m'],
    conversation: ['chat m', 'invoke_agent support'],
    agent: ['execute_tool drop_table', 'execute_tool find', 'invoke_agent support'],
    older: [],
    failed: ['execute_tool drop_table'],
  })
})
