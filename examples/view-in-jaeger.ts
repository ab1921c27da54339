/**
 * A run, viewed in Jaeger. Start one with `docker compose -f docker-compose.jaeger.yml up -d`, then open the printed
 * link. Another collector: set OTEL_EXPORTER_OTLP_ENDPOINT.
 */
// #region readme
import { HookDispatcher } from 'hookspan'
import { startTracing } from 'hookspan/tracing'

const dispatcher = new HookDispatcher()
const tracing = startTracing({ serviceName: 'support-bot', captureContent: true })
dispatcher.use(tracing)
const op = dispatcher.startOperation({ agentName: 'support' })
await op.step(async (step) => {
  await step.toolCall({ apiName: 'find_order', args: { id: 7 } }, ({ id }) => `order ${id} is shipped`)
})
await op.complete({ content: 'Order 7 is on its way.' })
await tracing.shutdown()
console.log(`http://localhost:16686/trace/${op.traceparent?.split('-')[1]}`)
// #endregion
