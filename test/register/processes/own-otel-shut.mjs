// As distributions of OpenTelemetry do: the SDK is started first, and shut down when there is nothing left to do.
import { NodeSDK } from '@opentelemetry/sdk-node'
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace'

const names = []
const exporter = {
  export(spans, done) {
    names.push(...spans.map(({ name }) => name))
    done({ code: 0 })
  },
  async forceFlush() {},
  async shutdown() {},
}
const sdk = new NodeSDK({ resourceDetectors: [], spanProcessors: [new BatchSpanProcessor({ exporter })] })
sdk.start()
process.once('beforeExit', () => sdk.shutdown().then(() => console.log(names.join())))

const { default: OpenAI } = await import('openai')
const messages = [{ role: 'user', content: 'hi' }]
await new OpenAI().chat.completions.create({ model: 'gpt-4o', messages })
