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
    respond: ({ body }) =>
      /"type":"function_call_output"|"role":"tool"/.test(JSON.stringify(body))
        ? { content: 'done' }
        : { toolCalls: [{ id: 'call_1', name: 'wipe', arguments: { what: 'all' } }] },
  })
})
afterAll(() => model.close())
beforeEach(async () => {
  collector = await startCollector()
  env = programEnv(model.baseURL, collector.url)
})
afterEach(() => collector.stop())

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
  (name, odd) => expectAsBare(program(name), env, odd),
)
