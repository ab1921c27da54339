/** What people say of runs: good, bad, a note, labels. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Mark, Marking, RunSummary } from '../../src/viewer/model/span.ts'
import { useSource } from './hooks.ts'
import { Badge, Button, Text } from './parts.tsx'
import { assertMayChange } from './source.ts'

const WORDS: Record<Exclude<Mark, ''>, string> = { good: 'Good', bad: 'Bad' }

export function MarkBadges({ run }: { run: RunSummary }) {
  return (
    <>
      {run.mark && <Badge kind={`mark-${run.mark}`}>{WORDS[run.mark]}</Badge>}
      {run.labels.map((label) => (
        <Badge key={label} kind="label">
          <Text>{label}</Text>
        </Badge>
      ))}
      {run.note && (
        <Badge kind="label" title={run.note}>
          Note
        </Badge>
      )}
    </>
  )
}

export interface Marks {
  /** A second time takes it back. */
  toggle: (run: RunSummary | undefined, mark: Exclude<Mark, ''>) => void
  /** Opens the dialog for note and labels. */
  edit: (run: RunSummary | undefined) => void
  dialog: preact.ComponentChildren
}

/** @param onProblem told why a mark was not kept. */
export function useMarks(onProblem: (problem: string) => void): Marks {
  const source = useSource()
  const [edited, setEdited] = useState<RunSummary>()
  const keep = async (run: RunSummary, marking: Marking) => {
    try {
      assertMayChange(source, 'Marking')
      await source.mark(run.traceId, marking)
      onProblem('')
    } catch (error) {
      onProblem((error as Error).message)
    }
  }
  return {
    toggle: (run, mark) => run && void keep(run, { mark: run.mark === mark ? '' : mark }),
    edit: (run) => run && setEdited(run),
    dialog: edited && (
      <MarkDialog
        key={edited.traceId}
        run={edited}
        onKeep={(marking) => void keep(edited, marking)}
        onClose={() => setEdited(undefined)}
      />
    ),
  }
}

function MarkDialog({
  run,
  onKeep,
  onClose,
}: {
  run: RunSummary
  onKeep: (marking: Marking) => void
  onClose: () => void
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [mark, setMark] = useState(run.mark)
  const [note, setNote] = useState(run.note)
  const [labels, setLabels] = useState(run.labels.join(', '))
  const text = useRef<HTMLTextAreaElement>(null)
  useLayoutEffect(() => {
    dialog.current?.showModal()
    // Whoever asked for it writes at once; on the button that closes it, a space would.
    text.current?.focus()
  }, [])
  const submit = (event: Event) => {
    event.preventDefault()
    // Not what stayed as it was when it opened: it may be another by now.
    onKeep({
      ...(mark !== run.mark && { mark }),
      ...(note.trim() !== run.note && { note: note.trim() }),
      ...(labels !== run.labels.join(', ') && { labels: namesIn(labels) }),
    })
    dialog.current?.close()
  }
  return (
    <dialog ref={dialog} class="help marking" aria-label="Marks of this run" onClose={onClose}>
      <header>
        <h2>Marks</h2>
        <Button icon="close" title="Close" onClick={() => dialog.current?.close()} />
      </header>
      <form onSubmit={submit}>
        <fieldset>
          <legend class="sr">Good or bad</legend>
          {(['good', 'bad', ''] as const).map((one) => (
            <label key={one}>
              <input type="radio" name="mark" checked={mark === one} onChange={() => setMark(one)} />
              {one === '' ? 'Neither' : WORDS[one]}
            </label>
          ))}
        </fieldset>
        <label>
          Note
          <textarea
            ref={text}
            rows={4}
            title="Control and Enter keep it"
            maxLength={10_000}
            value={note}
            onInput={(event) => setNote(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit(event)
            }}
          />
        </label>
        <label>
          Labels, with commas between
          <input maxLength={1_000} value={labels} onInput={(event) => setLabels(event.currentTarget.value)} />
        </label>
        <button type="submit" class="button primary">
          Keep
        </button>
      </form>
    </dialog>
  )
}

function namesIn(labels: string): string[] {
  return labels
    .split(',')
    .map((label) => label.trim())
    .filter(Boolean)
}
