import { fileURLToPath } from 'node:url'
import { it } from 'vitest'
import { type Odd, oddPrograms } from '../support/odd-objects.ts'

const program = (name: string) => fileURLToPath(new URL(`processes/odd-${name}.mjs`, import.meta.url))

const isAsBare = oddPrograms(({ body }) => {
  const told = JSON.stringify(body)
  return told.includes('Clean up.') && !/"tool_result"|functionResponse/.test(told)
    ? { toolCalls: [{ id: 'call_1', name: 'wipe', arguments: { what: 'all' } }] }
    : { content: 'It is on its way.' }
})

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
    refused: ['frozen tool', 'locked tool', 'proxy of a frozen tool', 'frozen sub-agent as tool'],
  },
  openai: {
    said: [client('OpenAI', 'post'), client('OpenAI', 'runTools', 'Completions')],
    refused: [
      'frozen client',
      'frozen client, twice',
      'sealed client',
      'proxy of a frozen client',
      'tool runner, frozen client',
      'tool runner, frozen chat',
    ],
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
  (name, odd) => isAsBare(program(name), odd),
)
