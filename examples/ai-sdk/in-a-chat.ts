import * as ai from 'ai'
import { HookDispatcher, type ParkedOperation } from 'hookspan'
import { observeAISDK, parkedRun, runWith } from 'hookspan/ai-sdk'
import { createApprovals } from 'hookspan/approval'
import { requireHuman } from 'hookspan/policies'
import { z } from 'zod'
import { scripted } from './scripted.ts'

const approvals = createApprovals({ mode: 'park' }) // In memory: give it a `store` in production.
const dispatcher = new HookDispatcher()
dispatcher.use(approvals)
dispatcher.use({ name: 'careful', gates: [requireHuman({ match: 'delete_*' })] })
const { isStepCount, streamText, tool } = observeAISDK(ai, { dispatcher })

const model = scripted([{ tool: 'delete_order', input: { id: 7 } }, 'Done: it is deleted.'])
const inputSchema = z.object({ id: z.number() })
const tools = { delete_order: tool({ inputSchema, execute: ({ id }) => `order ${id} is deleted` }) }

/** The run that waits in each chat: your database. No browser gets it, or gives it back. */
const parkedRuns = new Map<string, ParkedOperation>()

/** What `useChat` posts to: `app/api/chat/route.ts` of Next.js. */
export async function POST(request: Request): Promise<Response> {
  const { id, messages } = (await request.json()) as { id: string; messages: ai.UIMessage[] }
  const user = 'ann' // Who is signed in, once it is checked that the chat is theirs.
  const parked = parkedRuns.get(id)
  if (parked !== undefined) await passOn(parked, messages, user)
  const modelMessages = await ai.convertToModelMessages(messages)
  const start = () => streamText({ model, tools, messages: modelMessages, stopWhen: isStepCount(5) })
  const result = parked === undefined ? start() : runWith({ resume: parked }, start)
  void keepParked(id, result)
  void result.consumeStream() // It goes on to its end when the browser is closed.
  return result.toUIMessageStreamResponse({ originalMessages: messages })
}

async function keepParked(id: string, result: object): Promise<void> {
  const parked = await parkedRun(result)
  if (parked === undefined) parkedRuns.delete(id)
  else parkedRuns.set(id, parked)
}

/** Gates go by what the store of approvals says: the messages are what the browser says. */
async function passOn({ waiting = [] }: ParkedOperation, messages: ai.UIMessage[], approver: string) {
  const parts = messages.at(-1)?.parts.filter(ai.isToolUIPart) ?? []
  for (const { toolCallId, request } of waiting) {
    const part = parts.find((one) => one.toolCallId === toolCallId)
    if (request === undefined || part?.state !== 'approval-responded') continue
    const { approved, reason } = part.approval
    const decision = approved ? 'approve' : 'reject'
    await approvals.respond(request.id, { decision, reason, approver, argsDigest: request.argsDigest })
  }
}

// The browser: `useChat` does this, and its addToolApprovalResponse().
const transport = new ai.DefaultChatTransport({
  fetch: async (_url, init) => POST(new Request('http://localhost/api/chat', init)),
})
async function send(messages: ai.UIMessage[]): Promise<ai.UIMessage[]> {
  const last = messages.at(-1)
  const stream = await transport.sendMessages({
    ...{ chatId: 'chat-1', trigger: 'submit-message', messageId: undefined },
    ...{ messages, abortSignal: undefined },
  })
  const message = last?.role === 'assistant' ? last : undefined
  let reply = message
  for await (const now of ai.readUIMessageStream({ stream, ...(message && { message }) })) reply = now
  return [...messages.filter((one) => one !== message), ...(reply === undefined ? [] : [reply])]
}
let messages = await send([{ id: '1', role: 'user', parts: [{ type: 'text', text: 'Delete order 7' }] }])
for (const part of messages.at(-1)?.parts ?? []) {
  if (!ai.isToolUIPart(part) || part.state !== 'approval-requested') continue
  console.log(`${part.type} ${JSON.stringify(part.input)}?`)
  const approval = { ...part.approval, approved: true }
  Object.assign(part, { state: 'approval-responded', approval })
}
messages = await send(messages)
for (const part of messages.at(-1)?.parts ?? []) {
  if (ai.isToolUIPart(part)) console.log(part.output)
  if (ai.isTextUIPart(part)) console.log(part.text)
}
