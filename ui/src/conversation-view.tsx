/** The run as the chat it was. Only what is in sight exists, so ten thousand messages scroll as ten do. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import {
  type AgentItem,
  type Conversation,
  type ConversationItem,
  FIRST_ITEMS,
  type StepItem,
} from '../../src/viewer/model/conversation-items.ts'
import { formatCount } from '../../src/viewer/model/format.ts'
import { ContextGrowth } from './context-growth.tsx'
import { CompactionBlock, HumanLine, MessageBlock, StepLine, ToolCard } from './conversation-items.tsx'
import { useFollowed, useKeys, useSource } from './hooks.ts'
import { Icon } from './icons.tsx'
import { keep, readKept } from './kept.ts'
import { Badge, Empty, Text } from './parts.tsx'
import { useTallList } from './use-tall-list.ts'
import { AsWritten } from './value.tsx'

interface Props {
  traceId: string
  version: number
  /** Whether more may come. */
  live: boolean
  selected: string
  /** It was opened to go to a step. */
  toStep: boolean
  onSelect: (spanId: string) => void
}

/** Until some of it is there. */
const NOTHING_YET: Conversation = { items: [], hasContent: true, isPart: true }
/** Between two readings of a conversation that goes on. */
const PAUSE_MS = 400

export function ConversationView({ traceId, version, live, selected, toStep, onSelect }: Props) {
  const source = useSource()
  // What came with the page is drawn with it, and not a frame later.
  const [first, setFirst] = useState(() => source.firstWords(traceId))
  const came = useRef(first)
  const { value: whole, error } = useFollowed(
    async () => {
      if (came.current || first === undefined || !first.isPart) {
        const beginning = came.current ?? (await source.conversation(traceId, FIRST_ITEMS))
        came.current = undefined
        if (!beginning.isPart) return beginning
        setFirst(beginning)
        // The rest when this is painted.
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
      }
      return source.conversation(traceId)
    },
    [traceId],
    version,
    PAUSE_MS,
  )
  const value = whole ?? first ?? (toStep ? NOTHING_YET : undefined)
  if (error && !value) return <p class="notice error">{error}</p>
  if (!value) return null
  if (value.items.length === 0 && !value.isPart)
    return (
      <Empty title="Nothing was said">
        <p>No model was called and no tool was used in this run.</p>
      </Empty>
    )
  return <Chat conversation={value} live={live} selected={selected} toStep={toStep} onSelect={onSelect} />
}

interface Line {
  id: string
  depth: number
  item: ConversationItem
}

/** Items one below the other, what a sub-agent said below it. */
function linesOf(items: readonly ConversationItem[], shut: ReadonlySet<string>): Line[] {
  const lines: Line[] = []
  const add = (list: readonly ConversationItem[], path: string, depth: number) => {
    for (const [index, item] of list.entries()) {
      // What its step's own line says already.
      if (item.kind === 'bare') continue
      const id = `${path}${index}`
      lines.push({ id, depth, item })
      if (item.kind === 'agent' && !shut.has(id)) add(item.items, `${id}.`, depth + 1)
    }
  }
  add(items, '', 0)
  return lines
}

function Chat({
  conversation,
  live,
  selected,
  toStep,
  onSelect,
}: { conversation: Conversation } & Pick<Props, 'live' | 'selected' | 'toStep' | 'onSelect'>) {
  const [shut, setShut] = useState<ReadonlySet<string>>(new Set())
  const [asWritten, setAsWritten] = useState(() => readKept('hookspan-as-written', false))
  const lines = useMemo(() => linesOf(conversation.items, shut), [conversation, shut])
  const ids = useMemo(() => lines.map(({ id }) => id), [lines])
  const list = useTallList(ids, (index) => guessHeight(lines[index]!.item), live && selected === '')
  const steps = useMemo(() => stepsOf(lines), [lines])
  const items = useMemo(() => steps.map(({ item }) => item), [steps])
  const at = Math.max(
    0,
    steps.findLastIndex(({ line }) => line <= list.at),
  )
  const goTo = (step: number) => {
    const found = steps[Math.max(0, Math.min(steps.length - 1, step))]
    if (found) list.reveal(found.line)
  }
  const show = (written: boolean) => {
    keep('hookspan-as-written', written)
    setAsWritten(written)
  }
  useKeys({
    j: () => goTo(at + 1),
    k: () => goTo(at - 1),
    m: () => show(!asWritten),
  })
  // A span that is open already is what one came for.
  const opened = useRef(false)
  useEffect(() => {
    if (opened.current || !selected) return
    const index = lines.findIndex(({ item }) => item.spanId === selected)
    if (index < 0) return
    opened.current = true
    list.reveal(index)
  }, [lines])
  const toggle = (id: string) =>
    setShut((before) =>
      before.has(id) ? new Set([...before].filter((one) => one !== id)) : new Set([...before, id]),
    )
  return (
    <div class="chat">
      <div class="chat-tools">
        {(steps.length > 0 || conversation.isPart) && (
          <StepJump
            steps={items}
            at={at}
            isPart={conversation.isPart === true}
            isAsked={toStep}
            onGo={goTo}
          />
        )}
        <ContextGrowth steps={items} at={at} onPick={goTo} />
        <button
          type="button"
          class={`chip ${asWritten ? 'on' : ''}`}
          aria-pressed={asWritten}
          title="Texts as they were written, not as Markdown (m)"
          onClick={() => show(!asWritten)}
        >
          As written
        </button>
      </div>
      <div
        class="conversation"
        ref={list.scroller}
        tabIndex={0}
        role="region"
        aria-label="Conversation"
        onScroll={list.onScroll}
      >
        <h2 class="sr">Conversation</h2>
        {!conversation.hasContent && (
          <p class="notice">
            Messages were not captured, so only what happened is shown. With hookspan,{' '}
            <code>captureContent: true</code> records them.
          </p>
        )}
        <AsWritten.Provider value={asWritten}>
          <div style={{ height: `${list.above}px` }} />
          <ol class="items" ref={list.list}>
            {lines.slice(list.from, list.to).map(({ id, depth, item }, index) => (
              <li
                key={id}
                data-id={id}
                data-index={list.from + index}
                aria-setsize={lines.length}
                aria-posinset={list.from + index + 1}
                class={`item item-${item.kind} ${item.spanId !== '' && item.spanId === selected ? 'selected' : ''}`}
                style={{ '--depth': Math.min(depth, 12) }}
              >
                {item.kind === 'agent' ? (
                  <AgentHead item={item} open={!shut.has(id)} onToggle={() => toggle(id)} />
                ) : (
                  <Item item={item} onSelect={onSelect} />
                )}
              </li>
            ))}
          </ol>
          <div style={{ height: `${list.below}px` }} />
        </AsWritten.Provider>
        {conversation.isPart && <p class="hint pad">Reading the rest …</p>}
      </div>
    </div>
  )
}

function stepsOf(lines: readonly Line[]): { item: StepItem; line: number }[] {
  return lines.flatMap(({ item }, line) => (item.kind === 'step' ? [{ item, line }] : []))
}

/** `:7` and Enter go to step 7; Enter again to the next one of that number. */
function StepJump({
  steps,
  at,
  isPart,
  isAsked,
  onGo,
}: {
  steps: readonly StepItem[]
  at: number
  /** More steps are on their way. */
  isPart: boolean
  /** What is typed is for it. */
  isAsked: boolean
  onGo: (at: number) => void
}) {
  const input = useRef<HTMLInputElement>(null)
  const [typed, setTyped] = useState('')
  const [missed, setMissed] = useState('')
  useKeys({
    ':': (event) => {
      event.preventDefault()
      input.current?.focus()
      input.current?.select()
    },
  })
  const jump = () => {
    const wanted = typed.trim().replace(/^:/, '')
    if (wanted === '') return
    const after = steps.findIndex(({ step }, index) => index > at && step === wanted)
    const found = after >= 0 ? after : steps.findIndex(({ step }) => step === wanted)
    setMissed(found < 0 ? wanted : '')
    if (found >= 0) onGo(found)
  }
  // Before the next key comes.
  useLayoutEffect(() => {
    if (isAsked) input.current?.focus()
  }, [isAsked])
  // What was asked for before it was there.
  useEffect(() => {
    if (missed !== '') jump()
  }, [isPart, steps.length])
  return (
    <div class="step-jump">
      <label>
        <span class="sr">Go to step</span>
        <kbd>:</kbd>
        <input
          ref={input}
          value={typed}
          placeholder={steps[at]?.step}
          inputMode="decimal"
          size={5}
          onInput={(event) => setTyped(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter') jump()
            if (event.key === 'Escape') event.currentTarget.blur()
          }}
          autocomplete="off"
        />
      </label>
      <span class="hint" role="status">
        {missed
          ? isPart
            ? `reading up to step ${missed} …`
            : `no step ${missed}`
          : steps[at] &&
            `step ${steps[at].step}, call ${formatCount(at + 1)} of ${formatCount(steps.length)}`}
      </span>
    </div>
  )
}

function Item({
  item,
  onSelect,
}: {
  item: Exclude<ConversationItem, AgentItem>
  onSelect: Props['onSelect']
}) {
  switch (item.kind) {
    case 'message':
      return <MessageBlock item={item} onSelect={onSelect} />
    case 'tool':
      return <ToolCard item={item} onSelect={onSelect} />
    case 'human':
      return <HumanLine item={item} onSelect={onSelect} />
    case 'compaction':
      return <CompactionBlock item={item} onSelect={onSelect} />
    case 'step':
      return <StepLine item={item} onSelect={onSelect} />
    case 'bare':
      return null
    case 'error':
      return (
        <button type="button" class="line bad" onClick={() => onSelect(item.spanId)}>
          <Icon name="error" />
          <Text>{item.text}</Text>
        </button>
      )
  }
}

function AgentHead({ item, open, onToggle }: { item: AgentItem; open: boolean; onToggle: () => void }) {
  return (
    <button type="button" class="agent-head" aria-expanded={open} onClick={onToggle}>
      <Icon name="chevron" />
      <Icon name="agent" />
      <Text>{item.label}</Text>
      {item.state === 'running' &&
        (item.outcome === 'waiting' ? (
          <Badge kind="human">waiting</Badge>
        ) : (
          <Badge kind="running">running</Badge>
        ))}
      {item.error && (
        <Badge kind="error">
          <Text>{item.error}</Text>
        </Badge>
      )}
      {!open && <span class="hint">{item.items.length} folded</span>}
    </button>
  )
}

/** About as high as it will be, in pixels. */
function guessHeight(item: ConversationItem): number {
  const lines = (text: string) => Math.ceil(Math.min(text.length, 1200) / 95)
  switch (item.kind) {
    case 'message':
      return 62 + item.pieces.reduce((sum, { text }) => sum + lines(text) * 19, 0)
    case 'tool':
      return 100 + Math.max(lines(item.args.text), lines(item.result?.text ?? item.error)) * 19
    case 'compaction':
      return 90 + lines(item.summary.text) * 19
    default:
      return 40
  }
}
