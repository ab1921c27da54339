import { RealtimeAgent, RealtimeSession } from '@openai/agents/realtime'

const session = new RealtimeSession(new RealtimeAgent({ name: 'voice' }), { apiKey: 'none' })
console.log(session instanceof RealtimeSession ? 'made' : 'of another class')
