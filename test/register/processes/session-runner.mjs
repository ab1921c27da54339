import Anthropic from '@anthropic-ai/sdk'

const wipe = {
  type: 'custom',
  name: 'wipe',
  description: 'Wipes.',
  input_schema: { type: 'object' },
  parse: (input) => input,
  run: () => {
    console.log('all is wiped')
    return 'wiped'
  },
}
const use = { type: 'agent.tool_use', id: 'use_1', name: 'wipe', input: {}, evaluated_permission: 'allow' }
const ends = Promise.withResolvers()
const fetch = async (url, init) => {
  if (init?.method === 'POST') {
    ends.resolve()
    return Response.json({ data: [] })
  }
  if (!String(url).includes('/stream')) return Response.json({ data: [], has_more: false })
  const said = (event) => new TextEncoder().encode(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  const body = new ReadableStream({
    async start(controller) {
      controller.enqueue(said(use))
      await ends.promise
      controller.enqueue(said({ type: 'session.status_terminated', id: 'end' }))
      controller.close()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}
const client = new Anthropic({ apiKey: 'none', fetch })
for await (const call of client.beta.sessions.events.toolRunner('session_1', { tools: [wipe] }))
  console.log(`${call.name}: ${call.isError ? 'refused' : 'done'}`)
