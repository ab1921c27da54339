/** Tools that put runs side by side, or sum them. */
import type { DiffRow } from '../../viewer/model/run-diff.ts'
import { USE_KINDS, type UseKind } from '../../viewer/model/run-uses.ts'
import { UsageError } from '../failure.ts'
import { findRun } from '../run-source.ts'
import { listAnswer, placeOf, shortened } from './answer.ts'
import { known, PREVIEW_CHARS, QUERY, runLine, TEXT_CHARS, timeOf, told } from './run-lines.ts'
import { numbersLine, useLine } from './sums.ts'
import { defineTool, flag, type McpTool, needed, oneOf, RUN, text } from './tool.ts'

const diffRuns = defineTool<{ a: string; b: string; same?: boolean }>({
  name: 'diff_runs',
  title: 'Compare two runs',
  description:
    'Two runs aligned by what they did: where they part, and how prompts, replies, arguments and results differ.',
  args: { a: needed(RUN), b: needed(RUN), same: flag('Also what is the same. Default false.') },
  run: ({ a, b, same = false }, { withRuns, asked }) =>
    withRuns(async (source) => {
      const [runA, runB] = [await findRun(source, a), await findRun(source, b)]
      const diff = known(await source.diff(runA.summary.traceId, runB.summary.traceId), source.from)
      const rows = diff.rows
        .map((row, index) => ({ row, index }))
        .filter(({ row }) => same || row.kind !== 'same')
      const { at } = placeOf(asked)
      const head = {
        a: runLine(diff.a),
        b: runLine(diff.b),
        same: diff.same,
        changed: diff.changed,
        onlyInA: diff.removed,
        onlyInB: diff.added,
      }
      const entries = rows.slice(at).map(({ row, index }) => ({ place: index + 1, ...diffLine(row) }))
      return listAnswer(asked, head, 'rows', { entries, at, total: rows.length })
    }),
})

const statistics = defineTool<{ query?: string; by?: string; against?: string }>({
  name: 'statistics',
  title: 'Numbers over runs',
  description:
    'What the runs of a query come to: statuses, durations, tokens, cost. With by: calls, failures and durations of each tool, model, agent, gate or person; a count that is not there is 0. list_runs finds the runs behind one: tool.failed:NAME, or tool.error:"NAME: TEXT" with the text of its topError. With against: how they differ from the runs of another query, with 95 % intervals.',
  args: { query: QUERY, by: oneOf('Sum by this.', ...USE_KINDS), against: text('A query: what was before.') },
  run: ({ query = '', by, against }, { withRuns, asked }) =>
    withRuns(async (source) => {
      if (by !== undefined && against !== undefined)
        throw new UsageError('Expected `by` or `against`, got both.')
      const { at } = placeOf(asked)
      if (by !== undefined) {
        const { uses, names, pending, indexing } = known(await source.uses(query, by as UseKind), source.from)
        const entries = uses.slice(at).map((use) => shortened(useLine(by as UseKind, use), PREVIEW_CHARS))
        const behind = { ...(pending > 0 && { pending }), ...(indexing > 0 && { indexing }) }
        return listAnswer(asked, { by, names, ...behind }, 'uses', {
          entries,
          at,
          total: uses.length,
        })
      }
      if (against !== undefined) {
        const { measures, ...head } = known(await source.diffSets(against, query), source.from)
        return listAnswer(asked, { against, query, ...head }, 'measures', {
          entries: measures.slice(at),
          at,
          total: measures.length,
        })
      }
      const { problems } = await source.listRuns(query, 1)
      const { starts, ...numbers } = known(await source.numbers(query), source.from)
      const bars = starts.filter(({ byStatus }) => Object.keys(byStatus).length > 0)
      const entries = bars.slice(at).map(({ fromUs, toUs, byStatus }) => ({
        from: timeOf(fromUs),
        to: timeOf(toUs),
        byStatus,
      }))
      return listAnswer(asked, { ...numbersLine(numbers), ...told({ problems }) }, 'starts', {
        entries,
        at,
        total: bars.length,
      })
    }),
})

export const SET_TOOLS: readonly McpTool[] = [diffRuns, statistics]

function diffLine({ kind, a, b, changes }: DiffRow): object {
  const marks = { same: '  ', added: '+ ', removed: '- ' } as const
  return shortened(
    told({
      kind,
      a,
      b,
      changes: changes.map(({ what, lines }) => ({
        what,
        lines: lines.map((line) => marks[line.kind] + line.text).join('\n'),
      })),
    }),
    TEXT_CHARS,
  ) as object
}
