/** A difference between what an SDK tells and what the reference agent does, and why it is there. */
export interface Known {
  /** Names of subjects. */
  readonly of: readonly string[]
  readonly where: readonly string[]
  /** What the scenario's name has in it. Absent: wherever it is. */
  readonly when?: string
  readonly why: string
}

const MCP = ['observeMcpClient of version 1', 'observeMcpClient of version 2']
const CLAUDE = 'claude-agent'
const IN = 'chat gen_ai.input.messages'
const RUN_IN = 'invoke_agent gen_ai.input.messages'
const OUT = ['chat gen_ai.response.finish_reasons', 'chat gen_ai.output.messages']
const ARGS = ['execute_tool gen_ai.tool.call.arguments', 'trajectory args']
const RESULT = ['execute_tool gen_ai.tool.call.result', 'trajectory result']

export const KNOWN: readonly Known[] = [
  {
    of: [
      'observeOpenAI',
      'observeOpenAI, runTools',
      'ai-sdk',
      'langchain',
      'observeAnthropic',
      'observeGoogleGenAI',
      'mastra',
      'copilot',
    ],
    where: ['execute_tool hookspan.tool.source'],
    when: 'sub-agent',
    why: 'the tool is a function of the user’s that asks an agent, and a tool like any other',
  },
  {
    of: ['observeOpenAI, runTools'],
    where: ['spans'],
    when: 'throws',
    why: 'the SDK ends the run with what a tool throws',
  },
  {
    of: ['ai-sdk'],
    where: [IN],
    when: 'denies',
    why: 'the SDK has an output of its own for a refusal, with the reason in it',
  },
  {
    of: ['ai-sdk'],
    where: [IN],
    when: 'share an id',
    why: 'the SDK looks a call up by its id, and writes the arguments of the first into the history twice',
  },
  {
    of: ['ai-sdk'],
    where: [RUN_IN],
    when: 'parks',
    why: 'the messages that it goes on from have the SDK’s own question in them',
  },
  {
    of: ['openai-agents'],
    where: ['spans'],
    when: 'share an id',
    why: 'the SDK refuses the reply, and ends the run',
  },
  {
    of: ['openai-agents'],
    where: [RUN_IN],
    when: 'parks',
    why: 'a `RunState` says with what the run began, and `execAgent` what was said until it waited',
  },
  {
    of: ['langchain'],
    where: [IN, RUN_IN],
    why: 'messages have names (`model`, that of the tool), and the word on a failed call asks for a mend',
  },
  {
    of: ['langchain'],
    where: ['chat gen_ai.request.stream', 'chat hookspan.stream.end'],
    when: 'streamed',
    why: 'a middleware is given the whole message, streamed or not',
  },
  {
    of: ['langchain'],
    where: ['step failed', 'execute_tool failed', ...RESULT],
    when: 'interrupted',
    why: 'an aborted graph leaves its nodes where they are: the end of the run ends what is open',
  },
  {
    of: ['observeAnthropic'],
    where: [IN, 'chat gen_ai.tool.definitions'],
    why: 'the server keeps the conversation of a tool runner: a turn sends what is new',
  },
  {
    of: ['observeAnthropic'],
    where: [
      'chat gen_ai.usage.input_tokens',
      'chat gen_ai.usage.output_tokens',
      'invoke_agent hookspan.operation.input_tokens',
      'invoke_agent hookspan.operation.output_tokens',
    ],
    when: 'streamed',
    why: 'the API counts tokens at the beginning of a stream, too, so that a broken one has some',
  },
  {
    of: ['observeGoogleGenAI', 'google-adk'],
    where: OUT,
    why: 'a reply that asks for calls ends with `STOP`, like any',
  },
  {
    of: ['observeGoogleGenAI'],
    where: [IN, ...RESULT],
    why: 'the API takes objects for the results of functions: `{ output }`, `{ error }`',
  },
  {
    of: ['observeGoogleGenAI'],
    where: ['chat gen_ai.tool.definitions'],
    when: 'sub-agent',
    why: 'what asks the model without any tool is a question, and no agent: the one of the test has a tool',
  },
  {
    of: [...MCP, CLAUDE],
    where: ['execute_tool hookspan.tool.identifier', 'execute_tool hookspan.tool.source'],
    why: 'it says `mcp`, and the name of the server',
  },
  {
    of: MCP,
    where: ['execute_tool gen_ai.tool.call.id', 'execute_tool gen_ai.tool.description'],
    why: 'a request to a server has neither the id that the model gave the call, nor what the tool is described with',
  },
  {
    of: [...MCP, CLAUDE],
    where: RESULT,
    why: 'the result is the server’s, with all its parts',
  },
  {
    of: MCP,
    where: [IN],
    when: 'throws',
    why: 'the server tells the text of what was thrown without its class',
  },
  {
    of: ['mastra', 'strands', CLAUDE, 'copilot'],
    where: [RUN_IN],
    when: 'parks',
    why: 'what the run goes on from is in the SDK’s own snapshot or session, and is not said again',
  },
  {
    of: ['mastra'],
    where: [IN],
    when: 'denies',
    why: 'the model is told a refusal as the object that it is',
  },
  {
    of: ['mastra'],
    where: [IN],
    when: 'throws',
    why: 'the model is told the text of what was thrown without its class',
  },
  {
    of: ['mastra'],
    where: [IN],
    when: 'share an id',
    why: 'the SDK keeps one call and one result for each id',
  },
  {
    of: [
      'ai-sdk',
      'observeAnthropic',
      'observeGoogleGenAI',
      'observeOpenAI, runTools',
      'openai-agents',
      'mastra',
      'strands',
      'google-adk',
    ],
    where: [
      'execute_tool hookspan.tool.outcome',
      'execute_tool hookspan.tool.success',
      'execute_tool failed',
      'trajectory outcome',
    ],
    when: 'interrupted',
    why: 'the SDK waits for the tools that are at work, so that they end as they do',
  },
  {
    of: [
      'ai-sdk',
      'observeAnthropic',
      'observeOpenAI, runTools',
      'openai-agents',
      'mastra',
      'strands',
      'google-adk',
    ],
    where: RESULT,
    when: 'interrupted',
    why: 'likewise, with what they give',
  },
  {
    of: ['strands', 'google-adk'],
    where: ['chat hookspan.stream.end'],
    why: 'the SDK reads every reply as a stream',
  },
  {
    of: ['strands', 'google-adk'],
    where: ['chat gen_ai.request.stream'],
    when: 'streamed',
    why: 'the SDK keeps to itself whether it asked for a stream',
  },
  {
    of: ['strands'],
    where: [...ARGS, IN, 'chat gen_ai.output.messages'],
    when: 'sub-agent',
    why: 'an agent that is a tool takes `input`',
  },
  {
    of: ['strands'],
    where: [IN],
    when: 'share an id',
    why: 'the SDK keeps results by the id of the call, and tells the model one of them twice',
  },
  {
    of: ['google-adk'],
    where: ARGS,
    when: 'sub-agent',
    why: 'an agent that is a tool takes `request`',
  },
  {
    of: ['google-adk'],
    where: [IN],
    why: 'the SDK makes objects of the results of functions: `{ result }`, `{ error }`',
  },
  {
    of: ['google-adk'],
    where: ['chat gen_ai.system_instructions'],
    why: 'the SDK tells the model the name of the agent',
  },
  {
    of: ['google-adk'],
    where: ['execute_tool failed', ...RESULT],
    when: 'throws',
    why: 'the SDK says before what was thrown in which tool it was',
  },
  {
    of: [CLAUDE],
    where: [IN, 'chat gen_ai.output.messages'],
    why: 'the model knows a tool by its server (`mcp__orders__find_order`), and is told results in parts',
  },
  {
    of: [CLAUDE],
    where: ['chat gen_ai.tool.definitions', 'execute_tool gen_ai.tool.description'],
    why: 'Claude Code says nothing of the tools that it offers the model but their calls',
  },
  {
    of: [CLAUDE],
    where: ['chat gen_ai.request.stream'],
    why: 'Claude Code asks for a stream each time',
  },
  {
    of: [CLAUDE],
    where: ['step failed'],
    when: 'interrupted',
    why: 'Claude Code is gone when its tool has ended: the end of the run ends the step',
  },
  {
    of: ['copilot'],
    where: ['invoke_agent gen_ai.conversation.id', 'chat gen_ai.conversation.id'],
    why: 'a session is a conversation, and has an id',
  },
  {
    of: ['copilot'],
    where: ['execute_tool gen_ai.tool.call.arguments', IN, ...RESULT, 'trajectory args'],
    when: 'share an id',
    why: 'Copilot runs the first call twice, and not the second',
  },
  {
    of: ['copilot'],
    where: [IN],
    when: 'throws',
    why: 'Copilot tells the model that a tool failed, and not with what',
  },
  {
    of: ['copilot'],
    where: ['execute_tool failed', ...RESULT],
    when: 'interrupted',
    why: '`session.abort()` takes no reason',
  },
]
