const { Agent, run, setTracingDisabled, tool } = require('@openai/agents')
const { assistantMessage, functionCall, ScriptedModel } = require('@openai/agents/testing')

setTracingDisabled(true)
const parameters = {
  type: 'object',
  properties: { what: { type: 'string' } },
  required: ['what'],
  additionalProperties: false,
}
const execute = ({ what }) => {
  console.log(`${what} is wiped`)
  return 'wiped'
}
const wipe = tool({ name: 'wipe', description: '', parameters, execute })
const calls = [functionCall('wipe', { what: 'all' }, { callId: 'call_1' })]
const model = new ScriptedModel([calls, [assistantMessage('done')]])
run(new Agent({ name: 'janitor', model, tools: [wipe] }), 'Clean up.').then(({ finalOutput }) =>
  console.log(finalOutput),
)
