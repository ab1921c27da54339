import { startViewer, type Viewer } from 'hookspan/viewer'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Conversation, ConversationItem } from '../../src/viewer/model/conversation-items.ts'
import { getJson, post, recordedTraces } from './support.ts'

const all = recordedTraces()
const frameworks = [...new Set(all.map((trace) => trace.framework))]
let viewer: Viewer
beforeAll(async () => {
  viewer = await startViewer({ db: ':memory:', port: 0 })
})
afterAll(() => viewer.close())

const traceIdOf = (recorded: (typeof all)[number]) =>
  recorded.traces.resourceSpans[0]!.scopeSpans[0]!.spans[0]!.traceId

/** Every item, those of sub-agents too. */
function flat(items: ConversationItem[]): ConversationItem[] {
  return items.flatMap((item) => (item.kind === 'agent' ? [item, ...flat(item.items)] : [item]))
}

describe.skipIf(all.length === 0)('recorded traces of other frameworks', () => {
  it.each(frameworks)(
    '%s: each run shows its agent, its tools, its tokens and its conversation',
    async (framework) => {
      for (const recorded of all.filter((trace) => trace.framework === framework)) {
        const where = `${framework}/${recorded.file}`
        expect((await post(viewer, recorded.traces)).status, where).toBe(200)
        const { summary } = await getJson<{ summary: Record<string, number | string> }>(
          viewer,
          `/api/runs/${traceIdOf(recorded)}`,
        )
        // A few of these spans were recorded while they still ran, a year ago.
        const ended = !JSON.stringify(recorded.traces).includes('"endTimeUnixNano":"null"')
        expect(summary.status, where).toMatch(ended ? /^(ok|error)$/ : /^(ok|error|interrupted)$/)
        expect(summary.llmCalls, where).toBeGreaterThan(0)
        expect(summary.toolCalls, where).toBeGreaterThan(0)
        expect(summary.inputTokens, where).toBeGreaterThan(0)
        expect(summary.agent || summary.title, where).not.toBe('')
        // Some of these instrumentations record no input at all.
        const hasInput = /"(gen_ai\.input\.messages|input\.value|llm\.input_messages)/.test(
          JSON.stringify(recorded.traces),
        )
        if (hasInput) expect(summary.inputPreview, where).toMatch(/New.York/)
        const conversation = await getJson<Conversation>(
          viewer,
          `/api/runs/${traceIdOf(recorded)}/conversation`,
        )
        const items = flat(conversation.items)
        const said = items.filter((item) => item.kind === 'message')
        if (hasInput)
          expect(
            said.map((item) => item.role),
            where,
          ).toContain('user')
        // The whole history goes into every call; each message is shown once.
        const texts = said.map((item) => `${item.role} ${JSON.stringify(item.pieces)}`)
        expect(new Set(texts).size, where).toBe(texts.length)
        const tools = items.filter((item) => item.kind === 'tool')
        expect(
          tools.some((tool) => tool.spanId && tool.result?.text),
          where,
        ).toBe(true)
        const cards = tools.filter((tool) => tool.spanId)
        expect(new Set(cards.map((tool) => tool.spanId)).size, where).toBe(cards.length)
      }
    },
    60_000,
  )

  it('keeps ids beyond 2^53 exact', () => {
    const ids = all.flatMap((recorded) =>
      recorded.traces.resourceSpans.map((group) => group.scopeSpans[0]!.spans[0]!.spanId),
    )
    // Doubles of this size are multiples of 2048: rounded ids would end in zeros.
    expect(ids.filter((spanId) => spanId.endsWith('00')).length / ids.length).toBeLessThan(0.05)
  })
})
