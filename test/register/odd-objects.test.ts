import { fileURLToPath } from 'node:url'
import { startScriptedServer } from 'hookspan/mock'
import { afterAll, afterEach, beforeAll, beforeEach, it } from 'vitest'
import { startCollector } from '../support/collector.ts'
import { expectAsBare, type Odd } from '../support/odd-objects.ts'
import { programEnv } from '../support/registered.ts'

const program = (name: string) => fileURLToPath(new URL(`processes/odd-${name}.mjs`, import.meta.url))

let collector: Awaited<ReturnType<typeof startCollector>>
let model: Awaited<ReturnType<typeof startScriptedServer>>
let env: Record<string, string>
beforeAll(async () => {
  model = await startScriptedServer({
    respond: ({ body }) => {
      const told = JSON.stringify(body)
      return told.includes('Clean up.') && !/"tool_result"|functionResponse/.test(told)
        ? { toolCalls: [{ id: 'call_1', name: 'wipe', arguments: { what: 'all' } }] }
        : { content: 'It is on its way.' }
    },
  })
})
afterAll(() => model.close())
beforeEach(async () => {
  collector = await startCollector()
  env = programEnv(model.baseURL, collector.url)
})
afterEach(() => collector.stop())

const client = (name: string, method: string, of = name) =>
  `an object of ${name} is not attached: Cannot observe \`${method}\` of this ${of}: it is frozen`

const ODD: Record<string, Odd> = {
  agents: {
    said: [
      'the tool "wipe" is frozen',
      'the model ScriptedModel is frozen',
      'the model GetterModel is frozen',
      'the model of the provider is frozen',
      'the handoff "transfer_to_second" is frozen',
    ],
    // The policy decides on every tool, and a handoff is one.
    refused: [
      'frozen tool',
      'locked tool',
      'proxy of a frozen tool',
      'frozen sub-agent as tool',
      'frozen handoff',
    ],
  },
  openai: {
    said: [client('OpenAI', 'post')],
    refused: ['frozen client', 'frozen client, twice', 'sealed client', 'proxy of a frozen client'],
  },
  anthropic: {
    said: [client('Anthropic', 'post'), client('Anthropic', 'toolRunner', 'Messages')],
    refused: [
      'frozen client',
      'sealed client',
      'proxy of a frozen client',
      'tool runner, frozen client',
      'tool runner, frozen beta',
    ],
  },
  google: { said: [], refused: [] },
  'ai-sdk': { said: [], refused: [] },
  langchain: { said: [], refused: [] },
  mcp: { said: [], refused: [] },
}

it.each(Object.entries(ODD))(
  'leaves objects that are frozen, sealed, private, proxies or made of getters as they are, and lets none past a gate: %s',
  (name, odd) => expectAsBare(program(name), env, odd),
)
