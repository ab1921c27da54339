import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { startCollector } from '../support/collector.ts'
import { outputOf } from '../support/quotes.ts'
import { runProgram } from './support/elsewhere.ts'

const pathOf = (name: string) => fileURLToPath(new URL(`../../examples/${name}`, import.meta.url))

it.each(['claude-agent', 'mastra'])(
  '%s/support prints what its page says, and its denied call is in the trace',
  async (sdk) => {
    const collector = await startCollector()
    try {
      const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
      const output = await runProgram(pathOf(`${sdk}/support.ts`), [], { env })
      expect(output.trim().split('\n')).toEqual(outputOf(`${sdk}/support.ts`))
      await collector.until(() => collector.names().includes('execute_tool delete_order'))
    } finally {
      await collector.stop()
    }
  },
)

it.each(['claude-agent', 'mastra'])('%s/ask-a-human prints what its page says', async (sdk) => {
  const output = await runProgram(pathOf(`${sdk}/ask-a-human.ts`))
  expect(output.trim().split('\n')).toEqual(outputOf(`${sdk}/ask-a-human.ts`))
})
