/** Tools that read runs. */
import { conversationBlocks } from '../../viewer/model/conversation-markdown.ts'
import { outline } from '../../viewer/model/outline.ts'
import { NEWEST_FIRST, SORT_KEYS } from '../../viewer/model/query-keys.ts'
import { buildTree } from '../../viewer/model/tree.ts'
import { whyOf } from '../../viewer/model/why.ts'
import type { RunSource } from '../../viewer/run-source.ts'
import { UsageError } from '../failure.ts'
import { findRun } from '../run-source.ts'
import { linesAnswer, listAnswer, placeOf, shortened, textAnswer } from './answer.ts'
import { known, PREVIEW_CHARS, QUERY, runLine, TEXT_CHARS, timeOf, told } from './run-lines.ts'
import { SET_TOOLS } from './set-tools.ts'
import { defineTool, type McpTool, needed, oneOf, RUN, text, withRun } from './tool.ts'

/** Spans that one search finds at most. */
const MOST_HITS = 1_000
/** Runs that are read for one page. */
const MOST_RUNS = 100

const listRuns = defineTool<{ query?: string; sort?: string }>({
  name: 'list_runs',
  title: 'List runs',
  description:
    'Runs of agents, the newest first, each with its id, status, duration, tokens, cost, what was asked and answered.',
  args: {
    query: QUERY,
    sort: text(`${Object.keys(SORT_KEYS).join(', ')}; - before it for the greatest first.`),
  },
  async run({ query = '', sort = NEWEST_FIRST }, { withRuns, asked }) {
    if (!Object.hasOwn(SORT_KEYS, sort.replace(/^-/, '')))
      throw new UsageError(
        `Expected \`sort\` to be one of ${Object.keys(SORT_KEYS).join(', ')}, got \`${sort}\`.`,
      )
    const { at, kept } = placeOf(asked)
    return withRuns(async (source) => {
      const known = kept === undefined ? query : `${query} before:${kept}`
      const list = await source.listRuns(known, MOST_RUNS, sort, at)
      const { total, indexing, problems } = list
      const upTo = kept ?? (await newestOf(source, query))
      const head = { total, ...(indexing > 0 && { notSearchedYet: indexing }), ...told({ problems }) }
      return listAnswer(asked, head, 'runs', { entries: list.runs.map(runLine), at, total, kept: upTo })
    })
  },
})

/** Just after the newest run: those that begin between two pages would move the others on. */
async function newestOf(source: RunSource, query: string): Promise<string | undefined> {
  const newest = (await source.listRuns(query, 1)).runs[0]
  return newest && new Date(Math.floor(newest.startUs / 1000) + 1).toISOString()
}

const findSpans = defineTool<{ words: string; run?: string }>({
  name: 'find_spans',
  title: 'Find spans',
  description: `Spans that hold every word: prompts, replies, arguments, results, errors. The newest first, ${MOST_HITS} at most.`,
  args: { words: needed(text('What to look for; the last word may be the beginning of one.')), run: RUN },
  async run({ words, run }, { withRuns, asked }) {
    const { at } = placeOf(asked)
    return withRuns(async (source) => {
      const traceId = run === undefined ? undefined : (await findRun(source, run)).summary.traceId
      const { hits, indexing } = await source.search(words, MOST_HITS, traceId)
      const spans = hits.slice(at, at + MOST_RUNS).map(({ traceId, spanId, name, category, startUs }) => ({
        run: traceId,
        span: spanId,
        name: shortened(name, PREVIEW_CHARS),
        category,
        started: timeOf(startUs),
      }))
      const found = await source.snippets(words, [...new Set(spans.map((span) => span.run))])
      const around = Object.entries(found).map(([traceId, { spanId, before, match, after }]) => ({
        run: traceId,
        span: spanId,
        text: `${before}${match}${after}`,
      }))
      const head = { total: hits.length, ...(indexing > 0 && { notSearchedYet: indexing }) }
      const aroundOf = ({ run, span }: (typeof spans)[number]) =>
        around.find((one) => one.run === run && one.span === span)?.text
      const entries = spans.map((span) => ({ ...span, ...told({ text: aroundOf(span) }) }))
      return listAnswer(asked, head, 'spans', { entries, at, total: hits.length })
    })
  },
})

const showRun = defineTool<{ run?: string; view?: string }>({
  name: 'show_run',
  title: 'Show a run',
  description:
    'One run: its numbers, why it failed, and its spans as a tree; or with view "conversation" what was said, numbered and cut; show_span gives a span whole.',
  args: {
    run: RUN,
    view: oneOf(
      'tree (default): every span, a line each. conversation: what was said and done.',
      'tree',
      'conversation',
    ),
  },
  run: ({ run: given, view = 'tree' }, help) =>
    withRun(given, help, async ({ summary, rows }, source) => {
      const root = buildTree(rows)
      const why = root && whyOf(root, summary)
      const head = [
        JSON.stringify({ ...runLine(summary), ...told({ why: why && shortened(why, TEXT_CHARS) }) }),
        '',
      ]
      if (view === 'tree') return linesAnswer(help.asked, head, outline(rows))
      const { items, hasContent } = (await source.conversation(summary.traceId)) ?? {
        items: [],
        hasContent: false,
      }
      if (!hasContent)
        head.push('Messages were not captured; with hookspan, captureContent: true records them.', '')
      const limits = { textChars: TEXT_CHARS, whole: (span: string) => `show_span ${span}` }
      return linesAnswer(
        help.asked,
        head,
        conversationBlocks(items, limits).map((block) => `${block}\n`),
      )
    }),
})

const showSpan = defineTool<{ run?: string; span: string; attribute?: string }>({
  name: 'show_span',
  title: 'Show a span',
  description:
    'One span: name, status, times, attributes and events, long texts cut. With attribute: that one whole, as text, page by page.',
  args: {
    run: RUN,
    span: needed(text('Id of the span, 16 hexadecimal digits.')),
    attribute: text('Name of one of its attributes, such as gen_ai.input.messages.'),
  },
  run: ({ run: given, span: spanId, attribute }, help) =>
    withRun(given, help, async ({ summary }, source) => {
      const span = await source.span(summary.traceId, spanId)
      if (!span)
        throw new UsageError(
          `No span "${spanId}" in run ${summary.traceId}. show_run lists its spans with their ids.`,
        )
      const { attributes, events, resource, ...facts } = span
      if (attribute !== undefined) {
        const value = Object.hasOwn(attributes, attribute) ? attributes[attribute] : undefined
        if (value === undefined)
          throw new UsageError(
            `No attribute "${attribute}" on span ${spanId}. It has ${Object.keys(attributes).join(', ').slice(0, 2_000)}.`,
          )
        return textAnswer(help.asked, typeof value === 'string' ? value : JSON.stringify(value, null, 1))
      }
      const parts = [
        ...Object.entries(attributes).map(([key, value]) => ({ attribute: key, value })),
        ...events.map((event) => ({
          event: event.name,
          time: timeOf(event.timeUs),
          attributes: event.attributes,
        })),
        ...Object.entries(resource).map(([key, value]) => ({ resource: key, value })),
      ]
      const { at } = placeOf(help.asked)
      const entries = parts.slice(at).map((part) => shortened(part, TEXT_CHARS))
      return listAnswer(help.asked, shortened(facts, TEXT_CHARS) as object, 'parts', {
        entries,
        at,
        total: parts.length,
      })
    }),
})

const findings = defineTool<{ run?: string }>({
  name: 'findings',
  title: 'Findings in a run',
  description:
    'What is wrong with a run without asking a model: why it failed, and what fills the context of its model calls without need, each with a span.',
  args: { run: RUN },
  run: ({ run: given }, help) =>
    withRun(given, help, async ({ summary, rows }, source) => {
      const report = known(await source.findings(summary.traceId), source.from)
      const root = buildTree(rows)
      const why = root && whyOf(root, summary)
      const { findings: all, ...head } = report
      const { at } = placeOf(help.asked)
      const entries = all.slice(at).map((one) => shortened(one, TEXT_CHARS))
      return listAnswer(
        help.asked,
        { run: summary.traceId, ...told({ why: why && shortened(why, TEXT_CHARS) }), ...head },
        'findings',
        { entries, at, total: all.length },
      )
    }),
})

export const RUN_TOOLS: readonly McpTool[] = [listRuns, findSpans, showRun, showSpan, ...SET_TOOLS, findings]
