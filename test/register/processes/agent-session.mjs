import OpenAI from 'openai'

const call = { type: 'function_call', turn_id: 't', call_id: 'c', name: 'wipe', arguments: '{}' }
const turn = { id: 't', subagent_id: null }
const events = [
  { type: 'turn.created', turn_id: 't', turn },
  { type: 'turn.item.added', turn_id: 't', item: call },
  { type: 'turn.completed', turn_id: 't', turn },
  { type: 'idle' },
].map((event, at) => ({ ...event, event_id: `${at}`, type: `agent.session.${event.type}` }))
const fetch = async (url, init) => {
  if (init?.method === 'POST') {
    const [{ type, output }] = JSON.parse(init.body).events
    if (type.endsWith('tool_result')) console.log(output.slice(0, 14))
    return Response.json({ data: [] })
  }
  if (String(url).endsWith('/s')) return Response.json({ id: 's', status: 'idle' })
  const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
  return new Response(text, { headers: { 'content-type': 'text/event-stream' } })
}
const client = new OpenAI({ apiKey: 'none', fetch })
const wipe = () => 'all is wiped'
for await (const _event of client.beta.agents.sessions.stream('s', { input: 'hi', toolHandlers: { wipe } }));
