import { fileURLToPath } from 'node:url'
import { it } from 'vitest'
import { type Odd, oddPrograms } from '../support/odd-objects.ts'

const program = (name: string) => fileURLToPath(new URL(`processes/odd-${name}.mjs`, import.meta.url))

const isAsBare = oddPrograms(({ body }) =>
  /"type":"function_call_output"|"role":"tool"/.test(JSON.stringify(body))
    ? { content: 'done' }
    : { toolCalls: [{ id: 'call_1', name: 'wipe', arguments: { what: 'all' } }] },
)

const ODD: Record<string, Odd> = {
  mastra: { said: [], refused: [] },
  strands: {
    said: ['an object of Agent is not attached: Cannot observe `stream` of "cleaner": it is frozen'],
    refused: ['frozen agent', 'sealed agent'],
  },
  adk: { said: ['the agent "cleaner" is frozen'], refused: [] },
  copilot: { said: [], refused: [] },
}

it.each(Object.entries(ODD))(
  'leaves objects that are frozen, sealed, private or proxies as they are, and lets none past a gate: %s',
  (name, odd) => isAsBare(program(name), odd),
)
