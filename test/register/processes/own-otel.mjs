import { setTimeout } from 'node:timers/promises'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace'
import OpenAI from 'openai'

const exporter = new InMemorySpanExporter()
const sdk = new NodeSDK({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
sdk.start()
const messages = [{ role: 'user', content: 'hi' }]
await new OpenAI().chat.completions.create({ model: 'gpt-4o', messages })
// It waits for what it looks up of the machine, and no flush waits for that.
for (let i = 0; i < 1_000 && exporter.getFinishedSpans().length === 0; i++) await setTimeout(20)
console.log(
  exporter
    .getFinishedSpans()
    .map(({ name }) => name)
    .join(),
)
