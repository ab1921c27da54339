import { expect } from 'vitest'
import type { Plan } from './plan.ts'
import type { Seen } from './world.ts'

/** What says how far something has come, whenever it does. */
const PROGRESS = /^(task_progress|task_updated|background_tasks_changed|thinking_tokens)$/

/** The messages of each agent, and those of each kind about them: what goes on at once is shown in any order. */
function laned(shown: readonly string[]): Record<string, string[]> {
  const lanes: Record<string, string[]> = {}
  for (const line of shown) {
    const { type, subtype, parent_tool_use_id: agent, tool_use_id: of } = parsed(line)
    if (PROGRESS.test(String(subtype))) continue
    const lane =
      type === 'system' ? `${subtype} ${of ?? ''}` : `${agent ?? 'root'}${type === 'user' ? ' user' : ''}`
    lanes[lane] = [...(lanes[lane] ?? []), line]
  }
  return Object.fromEntries(
    Object.entries(lanes).map(([lane, lines]) => [
      lane,
      / user$|^informational/.test(lane) ? lines.sort() : lines,
    ]),
  )
}

function parsed(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line)
  } catch {
    return {}
  }
}

/** A caller sees the same, is asked the same, and his model is told the same: of what somebody ends, as far as it came. */
export function expectAlike({ queries }: Plan, bare: readonly Seen[], observed: readonly Seen[]): void {
  for (const [index, { ending, fault }] of queries.entries()) {
    const isCut = fault?.how === 'cut'
    const [was, is] = [bare[index], observed[index]].map((seen) => comparable(seen as Seen, isCut)) as [
      Told,
      Told,
    ]
    if (ending === undefined) {
      expect(is).toEqual(was)
      continue
    }
    for (const [lane, lines] of Object.entries(was.shown)) {
      // What of the calls of a reply was over is one, too.
      if (/ user$/.test(lane)) continue
      const [came, comes] = [untilEnd(lines), untilEnd(is.shown[lane] ?? [])]
      const both = Math.min(came.length, comes.length)
      expect([lane, ...comes.slice(0, both)]).toEqual([lane, ...came.slice(0, both)])
    }
    if (ending.when !== 'message') expect([ending, is.last]).toEqual([ending, was.last])
  }
}

function untilEnd(lines: readonly string[]): readonly string[] {
  const end = lines.findIndex((line) => /^over|^throws|"type":"result"/.test(line))
  return end < 0 ? lines : lines.slice(0, end)
}

type Told = ReturnType<typeof comparable>

const isPiece = (line: string) => parsed(line).type === 'stream_event'

/** @param isCut how much of a stream comes before it is cut is a matter of who is faster. */
const comparable = ({ shown, asked, bodies, told, requests }: Seen, isCut: boolean) => ({
  shown: laned(isCut ? shown.filter((line) => !isPiece(line)) : shown),
  last: shown.at(-1),
  asked: asked.toSorted(),
  bodies: bodies.toSorted(),
  told: told.toSorted(),
  requests,
})
