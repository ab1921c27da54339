/**
 * A run, seen where its spans went: in the viewer (`npx hookspan view`), in Jaeger (`npx hookspan jaeger`), or behind
 * any OTLP/HTTP endpoint (OTEL_EXPORTER_OTLP_ENDPOINT).
 */
import { HookDispatcher } from 'hookspan'
import { scriptedFetch } from 'hookspan/mock'
import { observeOpenAI } from 'hookspan/openai'
import { startTracing } from 'hookspan/tracing'
import OpenAI from 'openai'

// A scripted model, so that this runs without a key. Leave `fetch` out to talk to the real one.
const fetch = scriptedFetch({ steps: [{ content: 'Order 7 is on its way.' }] })

const dispatcher = new HookDispatcher()
const tracing = startTracing({ serviceName: 'support-bot', captureContent: true })
dispatcher.use(tracing)
const client = observeOpenAI(new OpenAI({ apiKey: 'none', fetch }), { dispatcher })

const op = dispatcher.startOperation({ agentName: 'support' })
await op.step(async (step) => {
  const order = await step.toolCall({ apiName: 'find_order', args: { id: 7 } }, ({ id }) => `${id}: shipped`)
  const reply = await client.chat.completions.create({
    model: 'gpt-4o',
    messages: [{ role: 'user', content: `Where is my order? We know: ${order.toToolMessage().content}` }],
  })
  console.log(reply.choices[0]?.message.content)
})
await op.complete()

console.log((await tracing.linkTo(op)).text)
await tracing.shutdown()
