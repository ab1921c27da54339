import type { LlmRequest } from '../../hooks/index.ts'
import { HookspanError } from '../../internal/errors.ts'
import { isRecord } from '../../internal/objects.ts'
import { asName, asObject, asObjects, type Loose } from '../../wire/reading.ts'
import { sameJson } from '../../wire/rewrite.ts'
import { assertSent } from '../gate-request.ts'
import { inputFromWire } from './changed-input.ts'
import { handoffToWire, toolToWire } from './items.ts'
import type { ModelRequest } from './sdk.ts'

const SETTINGS: Readonly<Record<string, string>> = {
  temperature: 'temperature',
  top_p: 'topP',
  max_output_tokens: 'maxTokens',
  frequency_penalty: 'frequencyPenalty',
  presence_penalty: 'presencePenalty',
  tool_choice: 'toolChoice',
  reasoning: 'reasoning',
}

const FIELDS: Readonly<Record<string, string>> = {
  instructions: 'systemInstructions',
  prompt: 'prompt',
  previous_response_id: 'previousResponseId',
  conversation: 'conversationId',
}

const KNOWN = ['input', 'tools', ...Object.keys(SETTINGS), ...Object.keys(FIELDS)]

const OWN_NAMES: Readonly<Record<string, string>> = {
  messages: 'Say `input`.',
  system: 'Say `instructions`.',
  max_tokens: 'Say `max_output_tokens`.',
  max_completion_tokens: 'Say `max_output_tokens`.',
}

/**
 * The SDK's request with what gates changed in it. What they left alone stays the very object that it was.
 *
 * @throws HookspanError `NOT_CAPABLE` for what the SDK cannot be asked.
 */
export function requestFromWire(request: ModelRequest, asked: LlmRequest, decided: LlmRequest): ModelRequest {
  if (asked === decided) return request
  assertSent(asked, decided, {
    by: 'the Agents SDK',
    isSent: (field) => KNOWN.includes(field),
    mend: (field) =>
      `${OWN_NAMES[field] ?? `Set it at the agent or its \`modelSettings\`.`} A gate can set ${KNOWN.join(', ')}.`,
  })
  const changed: Loose = {}
  const settings: Loose = { ...request.modelSettings }
  for (const key of KNOWN) {
    const value = decided[key]
    if (sameJson(asked[key], value)) continue
    if (key === 'input') changed.input = inputFromWire(request.input, value)
    else if (key === 'tools') Object.assign(changed, toolsDecided(request, asObjects(value)))
    else if (key === 'prompt') changed.prompt = promptOf(value)
    else if (Object.hasOwn(FIELDS, key)) changed[FIELDS[key] as string] = value
    else settings[SETTINGS[key] as string] = key === 'tool_choice' ? choiceOf(value) : value
  }
  return { ...request, modelSettings: settings, ...changed } as ModelRequest
}

/** By either name of its id: of the SDK, and of the API. */
function promptOf(prompt: unknown): unknown {
  if (!isRecord(prompt) || prompt.promptId !== undefined) return prompt
  const { id: promptId, ...rest } = prompt
  return { ...rest, promptId }
}

/** The SDK says a tool by its name, and one of the provider's by its kind. */
function choiceOf(choice: unknown): unknown {
  if (!isRecord(choice)) return choice
  const { type, name = asObject(choice.function)?.name } = choice
  return type === 'function' ? name : type
}

/**
 * Gates may take tools away, and say others of them. The SDK has no way to run one that it does not know.
 *
 * @throws HookspanError `NOT_CAPABLE` for one that is not there.
 */
function toolsDecided({ tools = [], handoffs = [] }: ModelRequest, decided: readonly Loose[]): Loose {
  const made = { tools: [] as unknown[], handoffs: [] as unknown[] }
  for (const one of decided) {
    const isIt = (told: unknown) => sameJson(told, one)
    const isNamed = (told: unknown) =>
      asObject(told)?.type === 'function' && asObject(told)?.name === one.name
    const tool = tools.find((own) => isIt(toolToWire(own))) ?? tools.find(isNamed)
    const handoff = asObjects(handoffs).find((own) => own.toolName === one.name)
    if (tool !== undefined) made.tools.push(isIt(toolToWire(tool)) ? tool : one)
    else if (handoff !== undefined) made.handoffs.push(handoffDecided(handoff, one))
    else throw unknownTool(one)
  }
  return made
}

function handoffDecided(handoff: Loose, { description, parameters, strict }: Loose): Loose {
  const { toolDescription, inputJsonSchema, strictJsonSchema } = handoff
  const { description: toldOf, parameters: taken, strict: isStrict } = handoffToWire(handoff)
  if (sameJson([toldOf, taken, isStrict], [description, parameters, strict])) return handoff
  return {
    ...handoff,
    toolDescription: description ?? toolDescription,
    inputJsonSchema: parameters ?? inputJsonSchema,
    strictJsonSchema: strict ?? strictJsonSchema,
  }
}

function unknownTool({ name, type }: Loose): HookspanError {
  return new HookspanError(
    'NOT_CAPABLE',
    `A beforeLlmCall gate offers the model the tool "${asName(name) ?? asName(type) ?? 'unnamed'}", which the agent of the Agents SDK does not have. ` +
      'Give it to the agent, and take it away or change it there.',
  )
}
