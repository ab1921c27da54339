/** What fills a context without need: found by reading what each model call was sent. No model is asked. */
import { modelCall, type ToolDefinition } from './call-content.ts'
import { charsOf } from './context-size.ts'
import { finish, type InTurns } from './in-turns.ts'
import { type Message, textOf } from './messages.ts'
import type { SpanRecord, SpanRow } from './span.ts'
import { summaryNodes } from './tree-parts.ts'

export type LintRule =
  | 'oversized-tool-result'
  | 'oversized-error'
  | 'repeated-block'
  | 'repetition'
  | 'orphan-tool-result'
  | 'orphan-tool-call'
  | 'bloated-tool-definitions'
  | 'unused-tools'
  | 'bloated-system-prompt'

export interface LintFinding {
  rule: LintRule
  severity: 'high' | 'medium' | 'low'
  /** The model call it was first seen in. */
  spanId: string
  message: string
  /** Estimated tokens per model call that carries it. */
  tokens: number
  /** How many model calls carried it. */
  calls: number
}

export interface LintReport {
  findings: LintFinding[]
  /** 100 is clean. Falls with the share of the sent tokens that findings account for. */
  score: number
  /** Model calls that could be read. */
  calls: number
  /** Model calls that carry no messages. */
  unreadCalls: number
}

const OVERSIZED_RESULT_TOKENS = 4_000
const OVERSIZED_ERROR_TOKENS = 500
const REPEATED_BLOCK_CHARS = 400
const BLOATED_TOOLS_TOKENS = 4_000
const BLOATED_SYSTEM_TOKENS = 8_000
/** Four characters a token is near enough for English and JSON, and says so in the page. */
const estimateTokens = (chars: number): number => Math.ceil(chars / 4)

export function lintRun(
  rows: readonly SpanRow[],
  open: (spanId: string) => SpanRecord | undefined,
): LintReport {
  return finish(linting(rows, open))
}

/** `lintRun`, giving way to others now and then. */
export function* linting(
  rows: readonly SpanRow[],
  open: (spanId: string) => SpanRecord | undefined,
): InTurns<LintReport> {
  const findings = new Map<string, LintFinding>()
  const toolsUsed = new Set<string>()
  const offered = new Map<string, { tool: ToolDefinition; spanId: string; calls: number }>()
  let calls = 0
  let unreadCalls = 0
  let sentTokens = 0
  for (const { row } of yield* summaryNodes(rows)) {
    yield
    if (row.category === 'tool') toolsUsed.add(row.label)
    if (row.category !== 'llm') continue
    const span = open(row.spanId)
    if (!span) continue
    const call = modelCall(span)
    if (call.input.length === 0) {
      unreadCalls++
      continue
    }
    calls++
    const chars = call.input.reduce((sum, message) => sum + messageChars(message), 0) + toolChars(call.tools)
    sentTokens += row.inputTokens || estimateTokens(chars)
    for (const finding of [...lintMessages(call.input), ...lintTools(call.tools)])
      note(findings, finding, row.spanId)
    for (const message of [...call.input, ...call.output]) {
      for (const part of message.parts) if (part.type === 'tool_call') toolsUsed.add(part.name)
    }
    for (const tool of call.tools) {
      const entry = offered.get(tool.name) ?? { tool, spanId: row.spanId, calls: 0 }
      entry.calls++
      offered.set(tool.name, entry)
    }
  }
  const unused = [...offered.values()].filter((entry) => !toolsUsed.has(entry.tool.name))
  if (offered.size > 4 && unused.length > offered.size / 2) {
    note(
      findings,
      {
        key: 'unused',
        rule: 'unused-tools',
        tokens: estimateTokens(toolChars(unused.map((entry) => entry.tool))),
        message: `${unused.length} of ${offered.size} offered tools were never called: ${unused
          .map((entry) => entry.tool.name)
          .slice(0, 8)
          .join(', ')}${unused.length > 8 ? ', …' : ''}.`,
      },
      unused[0]!.spanId,
    )
    findings.get('unused')!.calls = unused.reduce((most, entry) => Math.max(most, entry.calls), 0)
  }
  return { ...report([...findings.values()], sentTokens), calls, unreadCalls }
}

interface Found {
  /** Equal for the same thing in several calls. */
  key: string
  rule: LintRule
  message: string
  tokens: number
}

function note(findings: Map<string, LintFinding>, found: Found, spanId: string): void {
  const known = findings.get(found.key)
  if (known) known.calls++
  else
    findings.set(found.key, {
      rule: found.rule,
      message: found.message,
      tokens: found.tokens,
      spanId,
      severity: 'low',
      calls: 1,
    })
}

function report(findings: LintFinding[], sentTokens: number): Pick<LintReport, 'findings' | 'score'> {
  let wasted = 0
  for (const finding of findings) {
    const share = (finding.tokens * finding.calls) / Math.max(1, sentTokens)
    const broken = finding.rule === 'orphan-tool-result' || finding.rule === 'orphan-tool-call'
    finding.severity = broken || share > 0.25 ? 'high' : share > 0.08 ? 'medium' : 'low'
    wasted += share * 100 + (broken ? 10 : 0)
  }
  findings.sort((a, b) => b.tokens * b.calls - a.tokens * a.calls)
  return { findings, score: Math.max(0, Math.round(100 - Math.min(100, wasted))) }
}

function* lintMessages(messages: Message[]): Generator<Found> {
  const asked = new Set<string>()
  const answered = new Set<string>()
  const blocks = new Map<string, number>()
  for (const message of messages) {
    for (const part of message.parts) {
      if (part.type === 'tool_call' && part.id) asked.add(part.id)
      else if (part.type === 'tool_result') {
        if (part.id) answered.add(part.id)
        yield* lintResult(part.id, textOf(part.result))
      } else if (part.type === 'text') {
        if (message.role === 'system' && estimateTokens(part.text.length) > BLOATED_SYSTEM_TOKENS) {
          const tokens = estimateTokens(part.text.length)
          yield {
            key: `system ${hash(part.text)}`,
            rule: 'bloated-system-prompt',
            tokens,
            message: `The system prompt is about ${tokens} tokens.`,
          }
        }
        for (const block of part.text.split(/\n{2,}/)) {
          if (block.length >= REPEATED_BLOCK_CHARS) blocks.set(block, (blocks.get(block) ?? 0) + 1)
        }
        yield* lintRepetition(part.text)
      }
    }
  }
  for (const [block, count] of blocks) {
    if (count < 2) continue
    const tokens = estimateTokens(block.length) * (count - 1)
    yield {
      key: `block ${hash(block)}`,
      rule: 'repeated-block',
      tokens,
      message: `The same ${block.length} characters are sent ${count} times: "${start(block)}".`,
    }
  }
  // Only a history that shows both sides can be said to miss one.
  if (asked.size === 0 || answered.size === 0) return
  for (const id of answered) {
    if (!asked.has(id))
      yield {
        key: `result ${id}`,
        rule: 'orphan-tool-result',
        tokens: 0,
        message: `The result of tool call "${start(id)}" is sent without the call.`,
      }
  }
  for (const id of asked) {
    if (!answered.has(id))
      yield {
        key: `call ${id}`,
        rule: 'orphan-tool-call',
        tokens: 0,
        message: `Tool call "${start(id)}" is sent without a result.`,
      }
  }
}

function* lintResult(id: string, text: string): Generator<Found> {
  const tokens = estimateTokens(text.length)
  if (/^\s*(\{"?error|error|traceback|exception)/i.test(text) && tokens > OVERSIZED_ERROR_TOKENS) {
    yield {
      key: `error ${id} ${hash(text)}`,
      rule: 'oversized-error',
      tokens,
      message: `A tool's error is about ${tokens} tokens: "${start(text)}".`,
    }
  } else if (tokens > OVERSIZED_RESULT_TOKENS) {
    yield {
      key: `large ${id} ${hash(text)}`,
      rule: 'oversized-tool-result',
      tokens,
      message: `A tool result is about ${tokens} tokens: "${start(text)}".`,
    }
  }
}

/** The same line many times in a row, as models in a loop write it. */
function* lintRepetition(text: string): Generator<Found> {
  let run = 1
  let last = ''
  for (const line of text.split('\n', 20_000)) {
    run = line === last && line.trim().length > 3 ? run + 1 : 1
    last = line
    if (run === 8) {
      const tokens = estimateTokens(line.length * 8)
      yield {
        key: `line ${hash(line)}`,
        rule: 'repetition',
        tokens,
        message: `One line repeats eight times or more in a row: "${start(line)}".`,
      }
    }
  }
}

function* lintTools(tools: ToolDefinition[]): Generator<Found> {
  const tokens = estimateTokens(toolChars(tools))
  if (tokens > BLOATED_TOOLS_TOKENS) {
    const largest = [...tools].sort((a, b) => b.chars - a.chars)[0]!
    yield {
      key: 'tools',
      rule: 'bloated-tool-definitions',
      tokens,
      message: `${tools.length} tool definitions take about ${tokens} tokens of every call; the largest is ${largest.name} (${estimateTokens(largest.chars)}).`,
    }
  }
}

const toolChars = (tools: ToolDefinition[]) => tools.reduce((sum, tool) => sum + tool.chars, 0)

function messageChars(message: Message): number {
  return message.parts.reduce(
    (sum, part) => sum + (part.type === 'media' ? charsOf(part) : JSON.stringify(part).length),
    0,
  )
}

function start(text: string): string {
  return text.replace(/\s+/g, ' ').slice(0, 60)
}

/** Tells texts apart in a map key; nothing is protected by it. */
function hash(text: string): string {
  let value = 0
  for (let index = 0; index < text.length; index++)
    value = (Math.imul(value, 31) + text.charCodeAt(index)) | 0
  return `${text.length}.${value}`
}
