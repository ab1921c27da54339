/** What a run is and what it came to, above all of its views. */
import {
  formatAnswerer,
  formatCost,
  formatCount,
  formatDuration,
  TOLD_BY_STATUS,
} from '../../src/viewer/model/format.ts'
import type { RunSummary, SpanRow } from '../../src/viewer/model/span.ts'
import { elapsedMs } from '../../src/viewer/model/timing.ts'
import type { TreeNode } from '../../src/viewer/model/tree.ts'
import { costNote } from '../../src/viewer/model/tree-parts.ts'
import { testCommand } from './export-menu.tsx'
import { useSource } from './hooks.ts'
import { MarkBadges, type Marks } from './marks.tsx'
import { useEstimateWords } from './money.tsx'
import { Badge, Button, CopyButton, StatusMark, Text } from './parts.tsx'
import { go, listRoute, pathOf, type Route, type View } from './route.ts'
import { TimeBar } from './time-bar.tsx'
import { Waiting } from './waiting.tsx'
import { WhyLine } from './why.tsx'

export function RunHeader({
  summary,
  rows,
  tree,
  nowUs,
  route,
  marks,
}: {
  summary: RunSummary
  rows: SpanRow[]
  /** Not until all of it is there. */
  tree: TreeNode | undefined
  nowUs: number
  route: Extract<Route, { page: 'run' }>
  marks: Marks
}) {
  const source = useSource()
  const estimate = useEstimateWords()
  const ms = elapsedMs(summary, nowUs)
  const cached = summary.inputTokens > 0 ? summary.cachedTokens / summary.inputTokens : 0
  const people = whoAnswered(rows)
  const show = (view: View, find: string) => pathOf({ ...route, view, find })
  const remove = async () => {
    if (!confirm('Remove this run from the viewer?')) return
    await source.remove(summary.traceId)
    go(listRoute())
  }
  return (
    <header class="run-header">
      <div class="run-title">
        {!source.offline && (
          <a class="back" href={pathOf(listRoute())} aria-label="All runs">
            ‹
          </a>
        )}
        <h1>
          <Text>{summary.title || 'unnamed'}</Text>
        </h1>
        <StatusMark status={summary.status} />
        {summary.reason && !TOLD_BY_STATUS.has(summary.reason) && (
          <Badge kind="error">
            <Text>{summary.reason}</Text>
          </Badge>
        )}
        <p class="input">
          <Text>{summary.inputPreview}</Text>
        </p>
        {people !== '' && (
          <a href={show('timeline', 'is:human')} title="What they were asked">
            <Badge kind="human">
              answered <Text>{people}</Text>
            </Badge>
          </a>
        )}
        <MarkBadges run={summary} />
        <div class="actions">
          {source.mayChange && (
            <>
              {(['good', 'bad'] as const).map((mark) => (
                <button
                  key={mark}
                  type="button"
                  class="button"
                  aria-pressed={summary.mark === mark}
                  title={mark === 'good' ? 'Mark as good (+)' : 'Mark as bad (-)'}
                  onClick={() => marks.toggle(summary, mark)}
                >
                  {mark === 'good' ? 'Good' : 'Bad'}
                </button>
              ))}
              <Button title="Note and labels (w)" onClick={() => marks.edit(summary)}>
                Note
              </Button>
            </>
          )}
          <CopyButton
            text={() => source.markdown(summary.traceId)}
            title="Markdown for a language model, 40,000 characters at most"
          >
            For a model
          </CopyButton>
          {!source.offline && (
            <>
              <CopyButton
                text={() => testCommand(summary.traceId)}
                title="A command that writes a vitest file: mocks, and what is expected"
              >
                As test
              </CopyButton>
              {/* No `download`: a run that no test can be made of says why, instead of a file that is not there. */}
              <a
                class="button"
                href={`/api/export?format=vitest&runs=${summary.traceId}`}
                title="A vitest file: mocks, and what is expected"
              >
                Test file
              </a>
              <a
                class="button"
                href={`/api/runs/${summary.traceId}/export.html`}
                download
                title="One file that opens offline, with all views"
              >
                HTML
              </a>
              <a class="button" href={`/api/runs/${summary.traceId}/export.json`} download title="OTLP/JSON">
                JSON
              </a>
            </>
          )}
          {source.mayChange && <Button icon="trash" title="Remove this run" onClick={() => void remove()} />}
        </div>
      </div>
      <WhyLine tree={tree} summary={summary} onOpen={(spanId) => go({ ...route, spanId })} />
      <dl class="facts">
        <Fact name="Duration" says="What it is made of" to={show('timeline', 'is:critical')}>
          {formatDuration(ms)}
        </Fact>
        <Fact
          name="Tokens in"
          note={cached > 0 ? `${Math.round(cached * 100)}% cached` : ''}
          says="By model call"
          to={summary.inputTokens > 0 ? show('tree', 'is:model') : ''}
        >
          {told(summary.inputTokens)}
        </Fact>
        <Fact
          name="Tokens out"
          says="By model call"
          to={summary.outputTokens > 0 ? show('tree', 'is:model') : ''}
        >
          {told(summary.outputTokens)}
        </Fact>
        <Fact
          name="Cost"
          note={costNote(tree, summary)}
          noteSays={estimate}
          says="By model call"
          to={summary.costUsd > 0 ? show('tree', 'is:model') : ''}
        >
          {formatCost(summary.costUsd)}
        </Fact>
        <Fact
          name="Model calls"
          says="Which they are"
          to={summary.llmCalls > 0 ? show('timeline', 'is:model') : ''}
        >
          {summary.llmCalls}
        </Fact>
        <Fact
          name="Tool calls"
          note={summary.mockedCalls > 0 ? `${summary.mockedCalls} mocked` : ''}
          says="Which they are"
          to={summary.toolCalls > 0 ? show('timeline', 'is:tool') : ''}
          noteTo={show('timeline', 'is:mocked')}
        >
          {summary.toolCalls}
        </Fact>
        <Fact
          name="Errors"
          kind={summary.errors > 0 ? 'bad' : ''}
          says="Which they are"
          to={summary.errors > 0 ? show('timeline', 'is:error') : ''}
        >
          {summary.errors}
        </Fact>
        <TimeBar tree={tree} nowUs={nowUs} />
      </dl>
      <Waiting
        traceId={summary.traceId}
        rows={rows}
        nowUs={nowUs}
        onOpen={(spanId) => go({ ...route, spanId })}
      />
    </header>
  )
}

function whoAnswered(rows: readonly SpanRow[]): string {
  const names = rows.flatMap(({ human }) =>
    human?.approver ? formatAnswerer({ ...human, channel: undefined }) : [],
  )
  return [...new Set(names)].join(', ')
}

/** A number, and the way to what it counts. */
function Fact({
  name,
  note,
  kind,
  says,
  to,
  noteTo,
  noteSays,
  children,
}: {
  name: string
  note?: string
  kind?: string
  says: string
  /** Empty where there is nothing to lead to. */
  to: string
  noteTo?: string
  noteSays?: string
  children: string | number
}) {
  return (
    <div class={`fact ${kind ?? ''}`}>
      <dt>{name}</dt>
      <dd>
        {to ? (
          <a href={to} title={says}>
            {children}
          </a>
        ) : (
          children
        )}
        {note &&
          (noteTo ? (
            <a class="note" href={noteTo}>
              {note}
            </a>
          ) : (
            <small title={noteSays}>{note}</small>
          ))}
      </dd>
    </div>
  )
}

/** No model call takes no tokens: nobody told them. */
function told(tokens: number): string {
  return tokens > 0 ? formatCount(tokens) : '–'
}
