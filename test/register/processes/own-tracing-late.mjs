// Its first run is over when it starts tracing of its own, as where a server loads a route at its first request.
import { HookDispatcher } from 'hookspan'
import { startTracing } from 'hookspan/tracing'
import OpenAI from 'openai'

const messages = [{ role: 'user', content: 'hi' }]
await new OpenAI().chat.completions.create({ model: 'gpt-4o', messages })
const tracing = startTracing({ serviceName: 'mine' })
const dispatcher = new HookDispatcher()
dispatcher.use(tracing)
await dispatcher.startOperation({ agentName: 'own' }).complete({ content: 'done' })
await tracing.forceFlush()
console.log('done')
