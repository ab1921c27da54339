import type { LlmResponse } from '../../hooks/index.ts'
import { languageModel } from '../../wire/language-model.ts'
import { asObject, asObjects, type Loose, parseArguments } from '../../wire/reading.ts'
import { rewritten } from '../../wire/rewrite.ts'
import { messageClass } from './messages.ts'
import type { ModelResult, StrandsBlock } from './sdk.ts'

/**
 * What the model gave, with what a gate changed in it: signatures, thoughts that nobody can read, ids and tokens stay.
 *
 * @param told the reply as the gate was told it: of a model that does not stream, its thoughts are not.
 */
export function changedResult(result: ModelResult, told: unknown, message: LlmResponse): ModelResult {
  const given = result.message
  const reply = asObject(told) ?? {}
  const hasThoughts = asObjects(reply.content).some(({ type }) => type === 'reasoning')
  const pieces = given.content.flatMap((block, index) => {
    const piece = pieceOf(block, hasThoughts)
    return piece === undefined ? [] : [{ ...piece, index }]
  })
  const made = asObjects(rewritten(languageModel, { ...reply, content: pieces }, message, {}).content)
  const Message = messageClass([given])
  const blocks = made.flatMap((piece) => {
    const index = typeof piece.index === 'number' ? piece.index : undefined
    const before = pieces.find((one) => one.index === index)
    const block = index === undefined ? undefined : given.content[index]
    if (block !== undefined && before !== undefined && saysTheSame(before, piece)) return [{ block, index }]
    const data = dataOf(piece, block?.toJSON?.())
    if (data === undefined) return []
    const [fresh] = Message.fromMessageData({ role: 'assistant', content: [data] }).content
    return fresh === undefined ? [] : [{ block: fresh, index }]
  })
  const isTextSame = languageModel.read({ ...reply, content: pieces }).response.content === message.content
  given.content.forEach((block, index) => {
    // What is cited quotes the text.
    const isGone = block.type === 'citationsBlock' && !isTextSame
    if (isGone || pieces.some((piece) => piece.index === index)) return
    const at = blocks.findIndex((one) => one.index !== undefined && one.index > index)
    blocks.splice(at < 0 ? blocks.length : at, 0, { block, index })
  })
  const whole = Message.fromMessageData({ ...given.toJSON(), role: 'assistant', content: [] })
  ;(whole.content as StrandsBlock[]).push(...blocks.map(({ block }) => block))
  const calls = whole.content.some(({ type }) => type === 'toolUseBlock')
  const ended = result.stopReason === 'toolUse' ? 'endTurn' : result.stopReason
  return { ...result, message: whole, stopReason: calls ? 'toolUse' : ended }
}

/** Undefined for one that gates are not told of. */
function pieceOf({ type, text, toolUseId, name, input }: StrandsBlock, hasThoughts: boolean) {
  if (type === 'toolUseBlock') return { type: 'tool-call', toolCallId: toolUseId, toolName: name, input }
  if (text === undefined) return undefined
  if (type === 'textBlock') return { type: 'text', text }
  return type === 'reasoningBlock' && hasThoughts ? { type: 'reasoning', text } : undefined
}

function saysTheSame(before: Loose, piece: Loose): boolean {
  return ['text', 'toolName', 'input'].every((key) => before[key] === piece[key])
}

function dataOf({ type, text, toolCallId, toolName, input }: Loose, own: Loose = {}): Loose | undefined {
  if (type === 'text') return { text }
  if (type === 'reasoning') return { reasoning: { ...asObject(own.reasoning), text } }
  if (type !== 'tool-call') return undefined
  const asked = typeof input === 'string' ? parseArguments(input) : input
  return { toolUse: { ...asObject(own.toolUse), toolUseId: toolCallId, name: toolName, input: asked ?? {} } }
}
