import { useEffect, useRef, useState } from 'preact/hooks'
import { formatBytes, formatWhole, notStored } from '../../src/viewer/model/format.ts'
import { QUERY_KEYS } from '../../src/viewer/model/query-keys.ts'
import { ApprovalsDialog } from './approval-dialog.tsx'
import { ApprovalsButton, ApprovalsProvider } from './approvals.tsx'
import { CompareView } from './compare-view.tsx'
import { useFollowed, useKeys, useLive, useLiveConnection, useSource } from './hooks.ts'
import { usePageTitle } from './page-title.ts'
import { Button, Empty } from './parts.tsx'
import { go, useRoute } from './route.ts'
import { RunView } from './run-view.tsx'
import { RunsView } from './runs-view.tsx'
import { SetsView } from './sets-view.tsx'
import { assertMayChange } from './source.ts'
import { StepsView } from './steps-view.tsx'
import { UsesView } from './uses-view.tsx'

export function App() {
  return (
    <ApprovalsProvider>
      <Shell />
    </ApprovalsProvider>
  )
}

function Shell() {
  const source = useSource()
  const route = useRoute()
  const [connected, setConnected] = useState(true)
  const [problem, setProblem] = useState('')
  const [storage, setStorage] = useState('')
  const [help, setHelp] = useState(false)
  useLiveConnection()
  useLive((event) => {
    if (event.type === 'connected' || event.type === 'disconnected') setConnected(event.type === 'connected')
  })
  useKeys({ '?': () => setHelp(true), t: toggleTheme })
  useLinks()
  const drop = useDrop(setProblem)
  const notice = problem || (storage && notStored(storage))
  return (
    <div class={`app ${drop.over ? 'dropping' : ''}`} {...drop.handlers}>
      <nav class="top" aria-label="Viewer">
        <a class="brand" href={source.offline ? '#/' : '/'}>
          <Mark />
          hookspan
        </a>
        <span class={`live ${connected ? '' : 'off'}`} role="status">
          {source.offline ? 'Saved run' : connected ? 'Live' : 'Viewer not reachable'}
        </span>
        <span class="grow" />
        <ApprovalsButton />
        <StoreSize onStorage={setStorage} />
        {source.mayChange && <ImportButton onFile={drop.take} />}
        <Button icon="keys" title="Keyboard (?)" onClick={() => setHelp(true)} />
        <Button icon="sun" title="Light or dark (t)" onClick={toggleTheme} />
      </nav>
      {notice && (
        <p class="notice error top-notice" role="alert">
          {notice}
          <Button icon="close" title="Dismiss" onClick={() => (problem ? setProblem('') : setStorage(''))} />
        </p>
      )}
      {route.page === 'runs' && <RunsView route={route} />}
      {route.page === 'run' && <RunView route={route} />}
      {route.page === 'uses' && <UsesView route={route} />}
      {route.page === 'sets' && <SetsView route={route} />}
      {route.page === 'compare' && <CompareView route={route} />}
      {route.page === 'steps' && <StepsView route={route} />}
      {route.page === 'nowhere' && <Nowhere path={route.path} />}
      <ApprovalsDialog />
      {help && <Help onClose={() => setHelp(false)} />}
    </div>
  )
}

function Nowhere({ path }: { path: string }) {
  usePageTitle('No such page')
  return (
    <main>
      <Empty title="There is no such page" isPage>
        <p>
          <code>{path}</code> is no address of the viewer.
        </p>
        <p>
          <a href="/">All runs</a>
        </p>
      </Empty>
    </main>
  )
}

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
      <rect x="1" y="3" width="15" height="3.4" rx="1.7" />
      <rect x="4.500" y="8.300" width="9" height="3.4" rx="1.7" />
      <rect x="9" y="13.600" width="10" height="3.4" rx="1.7" />
    </svg>
  )
}

/** Also finds what keeps spans from being stored, since before the page was opened, too. */
function StoreSize({ onStorage }: { onStorage: (error: string) => void }) {
  const source = useSource()
  const [version, setVersion] = useState(0)
  useLive((event) => {
    if (event.type !== 'disconnected' && event.type !== 'approvals') setVersion((before) => before + 1)
  })
  const { value } = useFollowed(() => source.status(), [], version, 1_000)
  const error = value?.storageError ?? ''
  useEffect(() => onStorage(error), [error])
  if (!value || source.offline) return null
  return (
    <span class="store hint">
      {source.readOnly && `${source.readOnly}, read only: `}
      {formatWhole(value.spans)} spans, {formatBytes(value.bytes)}
    </span>
  )
}

const KEYS: [string, string][] = [
  ['/', 'Search'],
  ['j k', 'Next and previous row'],
  ['Enter', 'Open'],
  ['Esc', 'Close'],
  ['u', 'Back to the list'],
  ['[ ]', 'Previous and next run of the list'],
  ['h l', 'Fold and unfold'],
  ['e E', 'Next and previous error'],
  ['n N', 'Next and previous match'],
  ['p', 'Critical path'],
  ['o', 'Gates that let a call pass'],
  ['> <', 'Zoom in and out, of the timeline and the graph; 0: all of it'],
  ['z', 'Zoom to the row'],
  ['1 to 6', 'Views of a run'],
  [':', 'Go to a step of the conversation, from any view; there j and k: the next and the previous call'],
  ['m', 'Texts of the conversation as they were written, or as Markdown'],
  ['a', 'Answer what waits for a person'],
  ['x', 'Pick a run to compare or export'],
  ['c', 'Compare the runs picked: two side by side, more by steps; none: this one with the one below'],
  ['n N', 'Of two runs compared: the next and the previous difference; f: where they part'],
  ['+ -', 'Mark a run as good or bad, and take it back'],
  ['w', 'Write a note and labels for a run'],
  ['g', 'Group by conversation'],
  ['r', 'A line for each run'],
  ['b', 'The runs by tool, then 1 to 5: by model, agent, ...'],
  ['v', 'Compare this search with another'],
  ['d', 'Only differences'],
  ['w', 'Of two runs compared: swap them'],
  ['t', 'Light or dark'],
  ['?', 'This list'],
]
const QUERIES: [string, string][] = [
  ['words', 'in any text of any span'],
  ...Object.entries(QUERY_KEYS)
    .filter(([, { kind }]) => kind !== 'use' && kind !== 'useError')
    .map(([key, { kind, says }]): [string, string] => [kind === 'number' ? `${key}>` : `${key}:`, says]),
  ['tool.failed:', 'a tool of just this name failed; also model. agent. gate. human.'],
  ['tool.error:"pay: *"', 'it failed, or refused, in this way'],
  ['-tool:search', 'without'],
]

function Help({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog
      ref={dialog}
      class="help"
      aria-label="Keyboard and search"
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <header>
        <h2>Keyboard</h2>
        <Button icon="close" title="Close" onClick={onClose} />
      </header>
      <dl>
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>{key.split(' ').map((part) => (part === 'to' ? ' to ' : <kbd key={part}>{part}</kbd>))}</dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <h2>Searching runs</h2>
      <dl>
        {QUERIES.map(([term, what]) => (
          <div key={term}>
            <dt>
              <code>{term}</code>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </dialog>
  )
}

/** An exported run dropped anywhere on the page is imported and opened. */
function useDrop(tell: (problem: string) => void) {
  const source = useSource()
  const [over, setOver] = useState(false)
  const take = async (file: File) => {
    try {
      assertMayChange(source, 'Importing')
      const reply = await source.importTraces(await file.text())
      if (reply.rejected > 0) tell(`${reply.rejected} spans of ${file.name} were refused: ${reply.reason}`)
      if (reply.runs[0]) go({ page: 'run', traceId: reply.runs[0], view: 'timeline', spanId: '' })
    } catch (error) {
      tell(`Cannot import ${file.name}: ${(error as Error).message}`)
    }
  }
  return {
    over,
    take,
    handlers: {
      onDragOver: (event: DragEvent) => {
        if (!event.dataTransfer?.types.includes('Files')) return
        event.preventDefault()
        setOver(true)
      },
      onDragLeave: (event: DragEvent) => {
        if (event.relatedTarget === null) setOver(false)
      },
      onDrop: (event: DragEvent) => {
        event.preventDefault()
        setOver(false)
        const file = event.dataTransfer?.files[0]
        if (file) void take(file)
      },
    },
  }
}

/** What dropping does, for who has no mouse. */
function ImportButton({ onFile }: { onFile: (file: File) => Promise<void> }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <Button icon="import" title="Import a run (OTLP/JSON)" onClick={() => input.current?.click()} />
      <input
        ref={input}
        type="file"
        accept=".json,application/json"
        hidden
        onChange={(event) => {
          const file = event.currentTarget.files?.[0]
          if (file) void onFile(file)
          event.currentTarget.value = ''
        }}
      />
    </>
  )
}

/** Links to our own views change the view, not the document. */
function useLinks(): void {
  useEffect(() => {
    const onClick = (event: MouseEvent) => {
      const link = (event.target as Element).closest?.('a')
      if (
        !link ||
        event.defaultPrevented ||
        event.button !== 0 ||
        event.metaKey ||
        event.ctrlKey ||
        event.shiftKey
      )
        return
      const href = link.getAttribute('href') ?? ''
      if (link.hasAttribute('download') || !/^\/(?!api)/.test(href)) return
      event.preventDefault()
      history.pushState(null, '', href)
      dispatchEvent(new PopStateEvent('popstate'))
    }
    addEventListener('click', onClick)
    return () => removeEventListener('click', onClick)
  }, [])
}

export function applyTheme(): void {
  const theme = readTheme()
  if (theme) document.documentElement.dataset.theme = theme
}

function toggleTheme(): void {
  const dark = readTheme() ? readTheme() === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
  const next = dark ? 'light' : 'dark'
  document.documentElement.dataset.theme = next
  try {
    localStorage.setItem('hookspan-theme', next)
  } catch {
    // A file opened from disk may have no storage; the choice then lasts as long as the page.
  }
}

function readTheme(): string {
  try {
    return localStorage.getItem('hookspan-theme') ?? document.documentElement.dataset.theme ?? ''
  } catch {
    return document.documentElement.dataset.theme ?? ''
  }
}
