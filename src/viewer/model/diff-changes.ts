/** How two calls in the same place of two runs differ, and what of it only follows from an earlier difference. */
import { modelCall, toolCallFacts } from './call-content.ts'
import { Bag } from './context-size.ts'
import { type Message, messageText, parse, textOf } from './messages.ts'
import type { AttributeValue, SpanRecord, SpanRow } from './span.ts'
import { type DiffLine, diffLines } from './text-diff.ts'

export interface DiffUnit {
  spanId: string
  category: SpanRow['category']
  label: string
  preview: string
  durationMs: number
  tokens: number
  costUsd: number
  error: boolean
  mocked: boolean
  outcome: string
  /** First words of what came back: what the model said, what the tool gave. */
  reply: string
}

/** How a call ended that did not do what it was to: a refusal is no failure. Empty for any other. */
export function badEnd({ outcome, error }: DiffUnit): '' | 'failed' | 'denied' | 'rejected' | 'skipped' {
  if (outcome === 'denied' || outcome === 'rejected' || outcome === 'skipped') return outcome
  return error ? 'failed' : ''
}

export interface DiffChange {
  what: 'prompt' | 'reply' | 'arguments' | 'result' | 'model' | 'order' | 'outcome' | 'error' | 'tools'
  lines: DiffLine[]
  /** From 0, which is the same words, to 1, which is no word alike. */
  difference: number
  /** It was brought along: all of it is what one of the runs said or was given before. */
  inherited: boolean
}

/** What a run has brought about so far: its replies, its tools' results. In a later prompt they are no news. */
export class Brought {
  readonly #texts = new Set<string>()

  add(span: SpanRecord | undefined, category: DiffUnit['category']): void {
    if (!span) return
    if (category === 'llm') for (const message of modelCall(span).output) this.#said(message)
    if (category === 'tool') this.#texts.add(normal(toolCallFacts(span).result))
  }

  /** What was told as different once is not news again. */
  addMessages(messages: readonly Message[]): void {
    for (const message of messages) {
      this.#texts.add(transcript([message]))
      for (const part of message.parts) if (part.type === 'tool_result') this.#texts.add(normal(part.result))
    }
  }

  has(message: Message): boolean {
    if (this.#texts.has(transcript([message]))) return true
    const results = message.parts.filter((part) => part.type === 'tool_result')
    if (results.length > 0) return results.every((part) => this.#texts.has(normal(part.result)))
    const text = messageText(message)
    return text !== '' && this.#texts.has(text)
  }

  #said(message: Message): void {
    this.#texts.add(transcript([message]))
    // A sub-agent's answer is its caller's result.
    const text = messageText(message)
    if (text) this.#texts.add(text)
  }
}

export interface Pair {
  a: DiffUnit
  b: DiffUnit
  spanA: SpanRecord | undefined
  spanB: SpanRecord | undefined
}

export function changesOf({ a, b, spanA, spanB }: Pair, broughtA: Brought, broughtB: Brought): DiffChange[] {
  const changes: DiffChange[] = []
  const compare = (what: DiffChange['what'], before: string, after: string, inherited = false) => {
    if (before === after) return
    const difference = differenceOf(before, after)
    changes.push({ what, lines: diffLines(before, after), difference, inherited })
  }
  compare('outcome', a.outcome, b.outcome)
  if (!spanA || !spanB) return changes
  if (a.category === 'llm') {
    const callA = modelCall(spanA)
    const callB = modelCall(spanB)
    compare('model', a.label, b.label)
    for (const { what, inherited } of promptChange(callA.input, callB.input, broughtA, broughtB))
      compare(what, transcript(callA.input), transcript(callB.input), inherited)
    compare(
      'tools',
      pretty(callA.tools.map((tool) => tool.value)),
      pretty(callB.tools.map((tool) => tool.value)),
    )
    compare('reply', transcript(callA.output), transcript(callB.output))
  } else if (a.category === 'tool') {
    const factsA = toolCallFacts(spanA)
    const factsB = toolCallFacts(spanB)
    compare('arguments', pretty(factsA.args), pretty(factsB.args))
    compare('result', pretty(factsA.result), pretty(factsB.result))
    compare('error', factsA.error, factsB.error)
  }
  return changes
}

function promptChange(
  a: Message[],
  b: Message[],
  broughtA: Brought,
  broughtB: Brought,
): Pick<DiffChange, 'what' | 'inherited'>[] {
  const onlyA = without(a, b)
  const onlyB = without(b, a)
  if (onlyA.length + onlyB.length === 0)
    return transcript(a) === transcript(b) ? [] : [{ what: 'order', inherited: false }]
  const fresh = [
    ...onlyA.filter((message) => !broughtA.has(message)),
    ...onlyB.filter((message) => !broughtB.has(message)),
  ]
  broughtA.addMessages(onlyA)
  broughtB.addMessages(onlyB)
  if (fresh.length === 0) return [{ what: 'prompt', inherited: true }]
  // Where no span tells of the tool, its result is first seen here.
  const isResult = fresh.every(
    ({ parts }) => parts.length > 0 && parts.every(({ type }) => type === 'tool_result'),
  )
  return [{ what: isResult ? 'result' : 'prompt', inherited: false }]
}

function without(messages: readonly Message[], others: readonly Message[]): Message[] {
  const bag = new Bag(others.map((message) => transcript([message])))
  return messages.filter((message) => !bag.take(transcript([message])))
}

/** The share of neighbouring words that only one of them has, as Dice counts it. */
export function differenceOf(a: string, b: string): number {
  const pairsA = wordPairs(a)
  const pairsB = wordPairs(b)
  const bag = new Bag(pairsB)
  const common = pairsA.filter((pair) => bag.take(pair)).length
  return 1 - (2 * common) / (pairsA.length + pairsB.length)
}

function wordPairs(text: string): string[] {
  const words = ['', ...(text.match(/[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? []), '']
  return words.slice(1).map((word, at) => `${words[at]} ${word}`)
}

/** Ids are left out: they differ between any two runs and mean nothing. */
function transcript(messages: readonly Message[]): string {
  const parts = messages.map((message) => {
    const said = message.parts.map((part) => {
      if (part.type === 'tool_call') return `→ ${part.name}(${pretty(part.arguments)})`
      if (part.type === 'tool_result') return `← ${textOf(part.result)}`
      return ''
    })
    return [`[${message.role}]`, messageText(message), ...said].filter(Boolean).join('\n')
  })
  return parts.join('\n')
}

function pretty(value: AttributeValue): string {
  return typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value, null, 2)
}

function normal(value: AttributeValue): string {
  return textOf(parse(value))
}
