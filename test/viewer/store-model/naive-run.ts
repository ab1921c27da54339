/** What is true of a run, from the spans that were sent of it: as plainly as it can be said, and slowly. */
import { hostname } from 'node:os'
import { oneLine } from '../../../src/viewer/model/digest.ts'
import { errorKind } from '../../../src/viewer/model/error-kind.ts'
import type { AskedInRun, RunStatus, RunSummary } from '../../../src/viewer/model/span.ts'
import {
  type Attributes,
  DEAD_PID,
  type Gate,
  type Meaning,
  RESOURCES,
  type SentLog,
  type SentSpan,
  type Value,
} from './sent.ts'

const SILENT_MS = 600_000
const GRACE_MS = 3_000

/** A span, or what stands where one is missing. */
interface Node {
  spanId: string
  startUs: number
  endUs: number
  state: 'ended' | 'running' | 'interrupted'
  error: boolean
  errorText: string
  means: Meaning
  span: SentSpan | undefined
  children: Node[]
  above: Node[]
}

export interface NaiveUse {
  kind: string
  name: string
  counts: Record<string, number>
  durationsMs: number[]
  errors: string[]
}

export class NaiveRun {
  readonly traceId: string
  receivedMs = 0
  /** In the order in which they came. */
  readonly arrived: SentSpan[] = []
  readonly logs: SentLog[] = []
  marks: Pick<RunSummary, 'mark' | 'note' | 'labels'> = { mark: '', note: '', labels: [] }

  constructor(traceId: string) {
    this.traceId = traceId
  }

  /** The last that is known of each span, in the order in which they came. */
  get spans(): SentSpan[] {
    const last = new Map<string, SentSpan>()
    for (const span of this.arrived) {
      const known = last.get(span.spanId)
      if (known && span.means.started && (!known.means.started || span.endUs < known.endUs)) continue
      last.delete(span.spanId)
      last.set(span.spanId, span)
    }
    return [...last.values()]
  }

  silentMs(nowMs: number): number {
    const newestUs = Math.max(...this.arrived.map((span) => Math.max(span.startUs, endOf(span))))
    return nowMs - Math.min(this.receivedMs, newestUs / 1000)
  }

  stateOf(span: SentSpan, nowMs: number): Node['state'] {
    if (!span.means.started) return 'ended'
    return span.means.outcome === 'waiting' || this.#lives(RESOURCES[span.resource]!, nowMs)
      ? 'running'
      : 'interrupted'
  }

  #lives(resource: Attributes, nowMs: number): boolean {
    const silentMs = this.silentMs(nowMs)
    if (silentMs < GRACE_MS) return true
    const { 'process.pid': pid, 'host.name': host = hostname() } = resource
    return pid !== undefined && host === hostname() ? pid !== DEAD_PID : silentMs < SILENT_MS
  }

  /** Its spans as a tree, gone through from above. */
  nodes(nowMs: number): Node[] {
    const spans = this.spans
    if (spans.length === 0) return []
    const nodes = new Map(spans.map((span) => [span.spanId, this.#node(span, nowMs)]))
    const cut = rings(spans)
    const roots: Node[] = []
    const missing = new Map<string, Node>()
    for (const node of nodes.values()) {
      const { parentSpanId } = node.span!
      if (parentSpanId === '' || cut.has(node.spanId)) roots.push(node)
      else {
        const parent = nodes.get(parentSpanId) ?? missing.get(parentSpanId) ?? standIn(parentSpanId)
        if (!parent.span) missing.set(parentSpanId, parent)
        parent.children.push(node)
      }
    }
    for (const node of nodes.values()) addGates(node)
    const lost = [...missing.values()]
    for (const node of lost) spread(node)
    let root: Node
    if (roots.length === 1) {
      root = roots[0]!
      root.children.push(...lost)
    } else if (roots.length === 0 && lost.length === 1) root = lost[0]!
    else {
      root = { ...standIn('trace'), children: [...roots, ...lost] }
      spread(root)
    }
    return inOrder(root, [])
  }

  #node(sent: SentSpan, nowMs: number): Node {
    const { category } = sent.means
    const isError = sent.error !== undefined
    const result = category === 'tool' && sent.error === '' ? contentOf(sent) : ''
    return {
      spanId: sent.spanId,
      startUs: sent.startUs,
      endUs: endOf(sent),
      state: this.stateOf(sent, nowMs),
      error: isError,
      errorText: isError ? oneLine(result || sent.error!) : '',
      means: sent.means,
      span: sent,
      children: [],
      above: [],
    }
  }

  summary(nowMs: number, asked: AskedInRun | undefined): Partial<RunSummary> {
    const nodes = this.nodes(nowMs)
    const spans = this.spans
    const of = (category: string) => nodes.filter((node) => node.means.category === category)
    const agents = of('agent')
    const tools = of('tool')
    const calls = callsIn(nodes)
    const main = agents[0] ?? nodes[0]
    const startUs = spans.length > 0 ? Math.min(...spans.map((one) => one.startUs)) : 0
    const endUs = Math.max(0, ...spans.map((one) => endOf(one) || one.startUs))
    const errors = failures(nodes).length
    const reason = reasonOf(agents)
    const status = asked?.open ? 'waiting' : this.#status(nodes, reason, errors, nowMs)
    const isOpen = ({ state, means: { human } }: Node) =>
      state === 'running' || (status === 'waiting' && state === 'ended' && !human?.action)
    const sum = (key: 'inputTokens' | 'outputTokens' | 'cachedTokens' | 'costUsd') =>
      calls.reduce((total, node) => total + (node.means[key] ?? 0), 0)
    return {
      traceId: this.traceId,
      title:
        (main?.means.category === 'agent' && main.means.label) ||
        asked?.agentName ||
        (nodes.find((node) => node.span) ?? main)?.span?.name ||
        '',
      agent: main?.means.category === 'agent' ? main.means.label : '',
      service: main ? serviceOf(main) : '',
      model: calls[0]?.means.label ?? '',
      conversationId:
        spans.sort((a, b) => a.startUs - b.startUs).find(({ means }) => means.conversationId)?.means
          .conversationId ?? '',
      status,
      reason,
      startUs,
      endUs,
      durationMs: (endUs - startUs) / 1000,
      spans: spans.length,
      steps: of('step').length,
      llmCalls: calls.length,
      toolCalls: tools.length,
      mockedCalls: tools.filter((node) => node.means.mocked).length,
      errors,
      waiting: Math.max(of('human').filter(isOpen).length, asked?.open ?? 0),
      inputTokens: sum('inputTokens'),
      outputTokens: sum('outputTokens'),
      cachedTokens: sum('cachedTokens'),
      costUsd: sum('costUsd'),
      estimatedUsd: 0,
      agents: distinct(agents),
      tools: distinct(tools),
      models: distinct(calls),
      ...this.marks,
    }
  }

  #status(nodes: Node[], reason: string, errors: number, nowMs: number): RunStatus {
    const [top] = nodes
    const open = nodes.filter((node) => node.span && node.state !== 'ended')
    const running = open.filter((node) => node.state === 'running')
    if (running.some(({ means }) => means.category === 'human' || means.outcome === 'waiting'))
      return 'waiting'
    if (running.length > 0) return 'running'
    const lost = top?.spanId === 'trace' ? top.children : nodes.slice(0, 1)
    if (lost.some(({ span, children }) => !span && children.some(({ means }) => means.category === 'step')))
      return nodes.some(isAsking) ? 'waiting' : this.silentMs(nowMs) < SILENT_MS ? 'running' : 'interrupted'
    if (top && open.length > 0 && (top.state === 'interrupted' || !top.span)) return 'interrupted'
    if (reason === 'denied' || reason === 'interrupted') return reason
    const agent = nodes.find(({ means }) => means.category === 'agent')
    if (reason === 'error' || top?.error || agent?.error) return 'failed'
    if (reason === '' && top && agentFailedLast(top)) return 'failed'
    return errors > 0 ? 'with_errors' : 'ok'
  }

  uses(nowMs: number): NaiveUse[] {
    const nodes = this.nodes(nowMs)
    const calls = new Set(callsIn(nodes))
    const uses = new Map<string, NaiveUse>()
    const of = (kind: string, label: string): NaiveUse => {
      const name = label.slice(0, 200).toWellFormed() || 'unnamed'
      const key = `${kind} ${name}`
      const use = uses.get(key) ?? { kind, name, counts: {}, durationsMs: [], errors: [] }
      uses.set(key, use)
      return use
    }
    const count = (use: NaiveUse, key: string, more = 1) => {
      use.counts[key] = (use.counts[key] ?? 0) + more
    }
    const fail = (use: NaiveUse, text: string) => {
      count(use, 'failed')
      use.errors.push(errorKind(text || 'no message'))
    }
    const took = (use: NaiveUse, { startUs, endUs }: Node) => {
      if (endUs > 0) use.durationsMs.push((endUs - startUs) / 1000)
    }
    const spend = (use: NaiveUse, means: Meaning) => {
      for (const key of ['inputTokens', 'outputTokens', 'costUsd'] as const) count(use, key, means[key] ?? 0)
    }
    for (const node of nodes) {
      const { category, label, outcome = '' } = node.means
      if (category === 'tool' || calls.has(node)) {
        const use = of(category === 'tool' ? 'tool' : 'model', label)
        const refused = outcome === 'denied' || outcome === 'rejected'
        count(use, 'calls')
        if (calls.has(node)) {
          spend(use, node.means)
          count(use, 'cachedTokens', node.means.cachedTokens ?? 0)
        }
        if (node.means.mocked) count(use, 'mocked')
        if (refused) count(use, 'denied')
        else if (node.error || outcome === 'errored') fail(use, node.errorText)
        if (!refused && !node.means.mocked && !isAsking(node)) took(use, node)
      }
      if (calls.has(node)) {
        for (const kind of ['agent', 'tool']) {
          const inside = node.above.find(({ means }) => means.category === kind)
          if (!inside) continue
          const use = of(kind, inside.means.label)
          if (kind === 'agent') spend(use, node.means)
          else count(use, 'costUsd', node.means.costUsd ?? 0)
        }
      }
      if (category === 'agent' && !isAgain(node)) {
        const use = of('agent', label)
        count(use, 'calls')
        if (node.means.reason === 'denied') count(use, 'denied')
        else if (node.error || node.means.reason === 'error') fail(use, node.errorText)
        took(use, node)
      }
      if (category === 'gate') {
        const gate = node.means.gates!.at(-1)!
        const use = of('gate', label)
        count(use, 'calls')
        if (gate.durationMs === undefined) took(use, node)
        else use.durationsMs.push(gate.durationMs)
        if (gate.decision === 'deny') use.errors.push(errorKind(gate.reason || 'no message'))
        if (!gate.enforced) {
          count(use, 'shadow')
          if (gate.decision === 'deny') count(use, 'shadowDenied')
        } else {
          const counted = { deny: 'denied', mutate: 'changed', skip: 'skipped', require_approval: 'asked' }[
            gate.decision
          ]
          if (counted) count(use, counted)
        }
      }
      if (category === 'human') {
        const { action = '', approver, waitedMs } = node.means.human!
        const isAnswer = !node.error && /^(approve|edit|reject)/.test(action)
        const use = of('human', approver || (isAnswer ? '' : 'nobody'))
        count(use, 'calls')
        const isOpen = node.state === 'running' || (node.state === 'ended' && !action && !node.error)
        if (isOpen) count(use, 'asked')
        else if (node.error) fail(use, node.errorText || action)
        else if (action === 'approve') count(use, 'approved')
        else if (action === 'edit') count(use, 'changed')
        else if (action.startsWith('reject')) count(use, 'denied')
        else fail(use, node.errorText || action)
        if (waitedMs !== undefined) use.durationsMs.push(waitedMs)
        else if (!isOpen) took(use, node)
      }
    }
    return [...uses.values()]
  }

  /** Of each span by its id, and of each log, the words in it. */
  words(): { spans: Map<string, Set<string>>; logs: { spanId: string; words: Set<string> }[] } {
    return {
      spans: new Map(this.spans.map((one) => [one.spanId, wordsIn(textsOf(one))])),
      logs: this.logs.map((log) => ({
        spanId: log.spanId,
        words: wordsIn([log.eventName, ...textsIn(log.body)]),
      })),
    }
  }
}

/** A call that ended with a question. */
function isAsking({ means, state }: Node): boolean {
  return means.category === 'tool' && means.outcome === 'waiting' && state === 'ended'
}

/** A remote agent, of which its caller tells, too. */
function isAgain({ means, span, above: [caller] }: Node): boolean {
  return (
    means.category === 'agent' &&
    caller?.means.category === 'agent' &&
    caller.means.label === means.label &&
    serviceOf(caller) !== serviceOf({ span })
  )
}

function serviceOf({ span }: Pick<Node, 'span'>): string {
  return span ? String(RESOURCES[span.resource]!['service.name'] ?? '') : ''
}

function endOf({ startUs, endUs, means }: SentSpan): number {
  return means.started ? 0 : Math.max(startUs, endUs)
}

/** In each ring of parents, the smallest id. */
function rings(spans: readonly SentSpan[]): Set<string> {
  const parents = new Map(spans.map((one) => [one.spanId, one.parentSpanId]))
  const cut = new Set<string>()
  for (const { spanId } of spans) {
    const ring = [spanId]
    for (
      let at = parents.get(spanId);
      at !== undefined && ring.length <= spans.length;
      at = parents.get(at)
    ) {
      if (at === spanId) {
        cut.add(ring.sort()[0]!)
        break
      }
      ring.push(at)
    }
  }
  return cut
}

function standIn(spanId: string): Node {
  const means = { category: 'missing', label: '' }
  return {
    spanId,
    startUs: 0,
    endUs: 0,
    state: 'ended',
    error: false,
    errorText: '',
    means,
    span: undefined,
    children: [],
    above: [],
  }
}

function spread(node: Node): void {
  node.startUs = Math.min(...node.children.map(({ startUs }) => startUs))
  const isRunning = node.children.some(({ state }) => state === 'running')
  node.endUs = isRunning ? 0 : Math.max(...node.children.map(({ endUs }) => endUs))
}

function addGates(node: Node): void {
  if (node.means.category === 'gate') return
  const told = new Set(
    node.children.filter(({ means }) => means.category === 'gate').map(({ means }) => means.label),
  )
  for (const [index, gate] of (node.means.gates ?? []).entries()) {
    if (told.has(gate.id)) continue
    node.children.push({
      ...standIn(`${node.spanId}:${index}`),
      ...gateTimes(node, gate),
      means: { category: 'gate', label: gate.id, gates: [gate] },
    })
  }
}

function gateTimes({ startUs }: Node, { timeUs, durationMs = 0 }: Gate) {
  return { startUs: Math.max(startUs, timeUs - durationMs * 1000), endUs: timeUs || startUs }
}

function inOrder(node: Node, above: Node[]): Node[] {
  node.above = above
  node.children.sort((a, b) => a.startUs - b.startUs || (a.spanId < b.spanId ? -1 : 1))
  return [node, ...node.children.flatMap((child) => inOrder(child, [node, ...above]))]
}

const isCall = ({ means }: Node) => means.category === 'llm' || means.category === 'embedding'

/** What is told twice counts once: the outer one. */
function callsIn(nodes: readonly Node[]): Node[] {
  return nodes.filter((node) => isCall(node) && !node.above.some(isCall))
}

/** Of the agents that are least deep, what the last one says. */
function reasonOf(agents: readonly Node[]): string {
  const depth = Math.min(...agents.map(({ above }) => above.length))
  return (
    agents.filter(({ above, means }) => above.length === depth && means.reason).at(-1)?.means.reason ?? ''
  )
}

const failed = (node: Node): boolean => node.error || node.children.some(failed)

/** The last thing in it that failed, if nothing was done after that. */
function lastFailed(node: Node): Node | undefined {
  const last = node.children.filter(failed).at(-1)
  if (!last) return undefined
  const endUs = last.endUs || Number.POSITIVE_INFINITY
  const wentOn = node.children.some(
    (child) =>
      child !== last && !['gate', 'compact'].includes(child.means.category) && child.startUs >= endUs,
  )
  return wentOn ? undefined : last
}

/** Those that failed by themselves: not because the last thing in them did. */
function failures(nodes: readonly Node[]): Node[] {
  const because = (node: Node): boolean => {
    const last = lastFailed(node)
    return last !== undefined && (last.error || because(last))
  }
  return nodes.filter((node) => node.error && !because(node))
}

function agentFailedLast(node: Node): boolean {
  if (node.error) return node.means.category === 'agent'
  const last = lastFailed(node)
  return last !== undefined && agentFailedLast(last)
}

function distinct(nodes: readonly Node[]): string[] {
  return [...new Set(nodes.map(({ means }) => means.label).filter(Boolean))]
}

function contentOf({ attributes }: SentSpan): string {
  for (const [key, value] of Object.entries(attributes)) {
    if (/result$|\.output$|^output\.value$|^gen_ai\.output$/.test(key))
      return (JSON.parse(value as string) as { content: string }).content
  }
  return ''
}

function textsOf(one: SentSpan): string[] {
  return [
    one.traceId,
    one.spanId,
    one.name,
    one.error ?? '',
    ...textsIn(one.attributes),
    ...one.events.flatMap(({ name, attributes }) => [name, ...textsIn(attributes)]),
  ]
}

function textsIn(value: Value): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value === 'number') return Number.isInteger(value) ? [String(value)] : []
  if (typeof value === 'boolean') return []
  return Object.values(value).flatMap(textsIn)
}

const ESCAPES = /\\(?:u([0-9a-f]{4})|(.))/gi

export const UNSPACED =
  /^[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Bopo}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}\p{sc=Tibt}\u3000-\u303f\u3099\u309a\u30fc\uff70\uff9e\uff9f]/u

export function wordsIn(texts: readonly string[]): Set<string> {
  const words = new Set<string>()
  for (const text of texts) {
    const isJson = /^\s*[[{]/.test(text)
    // Of JSON, what it stands for.
    const meant = isJson
      ? text.replace(ESCAPES, (_all, code: string | undefined) =>
          code ? String.fromCharCode(Number.parseInt(code, 16)) : ' ',
        )
      : text
    for (const [run] of meant.toWellFormed().matchAll(/[\p{L}\p{N}\p{M}\p{Co}]+/gu)) {
      const word = run
        .toLowerCase()
        .normalize('NFD')
        .replace(/[\u0300-\u036f]/g, '')
      // Without spaces between words, any part of a piece is one.
      for (const piece of word.split(
        /([\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Bopo}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}\p{sc=Tibt}\u3000-\u303f\u3099\u309a\u30fc\uff70\uff9e\uff9f]+)/u,
      )) {
        if (UNSPACED.test(piece)) words.add(piece)
        else if (piece !== '') words.add(Buffer.from(piece).subarray(0, 64).toString())
      }
    }
  }
  return words
}
