import { HookspanError } from '../internal/errors.ts'
import { a, assertFields, expected, type Fields } from '../internal/expect.ts'
import { defined } from '../internal/objects.ts'
import { differences, formatDifference } from './match/difference.ts'
import {
  type ScriptedFetch,
  type ScriptedRequest,
  type ScriptedServer,
  type ScriptedStep,
  scriptedFetch,
  startScriptedServer,
} from './scripted-server/index.ts'
import { checkFields, STEP } from './scripted-server/validate.ts'

/** What a request must look like for a step to answer it; compared partially, may hold matchers. */
export interface ExpectedRequest {
  model?: unknown
  /** The text of the last message. */
  lastMessage?: unknown
  /** The body as it was sent. */
  body?: Readonly<Record<string, unknown>>
}

/**
 * One answer of the model: a text, a step, a function of the request, or a step that first looks at the request.
 */
export type ModelStep =
  | string
  | ScriptedStep
  | (ScriptedStep & { expects: ExpectedRequest })
  | ((request: ScriptedRequest) => string | ScriptedStep | Promise<string | ScriptedStep>)

export interface ScriptedModelOptions {
  /** How long until each answer starts, in milliseconds, unless its step says otherwise. @default 0 */
  latencyMs?: number
}

/** What `new OpenAI(...)` takes to speak with the script. */
export interface ScriptedClientOptions {
  apiKey: string
  baseURL: string
  fetch: ScriptedFetch
  /** None: what the script says is what the test sees. */
  maxRetries: number
  /** A test in `jsdom` or `happy-dom` looks like a browser, where clients refuse keys; this one opens nothing. */
  dangerouslyAllowBrowser: true
}

/** A chat or responses client, as far as it is shared by the versions of the `openai` package. */
interface Creates {
  create(body: never, options?: never): Promise<unknown>
}

/**
 * A model that says what it is told, strictly in order. Give it as `client` to `execAgent`, its `clientOptions` to
 * `new OpenAI()`, or let it listen on a port for other processes.
 *
 * @throws ScriptError `INVALID_OPTION` when a step is wrong in itself.
 * @example
 * using model = scriptedModel([callTool('get_weather', { city: 'Berlin' }), 'It is 7 °C.'])
 * await execAgent({ agent, prompt: 'How warm is it?', client: model })
 */
export function scriptedModel(
  steps: readonly ModelStep[],
  options: ScriptedModelOptions = {},
): ScriptedModel {
  return new ScriptedModel(steps, options)
}

/** A step in which the model calls one tool. */
export function callTool(name: string, args: unknown = {}, id?: string): ScriptedStep {
  return { toolCalls: [defined({ name, arguments: args, id })] }
}

/** A step in which the model calls several tools at once. */
export function callTools(...calls: readonly (readonly [name: string, args?: unknown])[]): ScriptedStep {
  const toolCalls = calls.map((call) => {
    // Of a text the first letter would be the tool.
    if (!Array.isArray(call)) throw expected('each call of callTools to be [name, args]', call)
    const [name, args = {}] = call
    return { name, arguments: args }
  })
  return { toolCalls }
}

export class ScriptedModel implements Disposable {
  /** The `chat.completions.create` and `responses.create` of the real client, loaded at the first call. */
  readonly chat: { readonly completions: Creates }
  readonly responses: Creates
  readonly baseURL = 'http://scripted.invalid/v1'
  readonly fetch: ScriptedFetch
  readonly #steps: readonly ModelStep[]
  readonly #latencyMs: number
  readonly #servers: ScriptedServer[] = []
  #next = 0
  #client: Promise<{ chat: { completions: Creates }; responses: Creates }> | undefined
  #missing: HookspanError | undefined
  #told = false

  constructor(steps: readonly ModelStep[], options: ScriptedModelOptions) {
    assertFields<ScriptedModelOptions>(options, { latencyMs: a.number(0) }, 'scriptedModel')
    const { latencyMs = 0 } = options
    if (!Array.isArray(steps)) {
      throw expected('scriptedModel() to get a list of steps', steps)
    }
    for (const [index, step] of steps.entries()) checkEagerly(step, `steps[${index}]`)
    this.#steps = [...steps]
    this.#latencyMs = latencyMs
    this.fetch = scriptedFetch({ respond: (request) => this.#respond(request), latencyMs })
    this.chat = {
      completions: { create: async (...args) => (await this.client()).chat.completions.create(...args) },
    }
    this.responses = { create: async (...args) => (await this.client()).responses.create(...args) }
  }

  get clientOptions(): ScriptedClientOptions {
    const { baseURL, fetch } = this
    return { apiKey: 'scripted', baseURL, fetch, maxRetries: 0, dangerouslyAllowBrowser: true }
  }

  /** What was asked, in order. */
  get requests(): readonly ScriptedRequest[] {
    return this.fetch.requests
  }

  /** Steps that were not asked for yet. */
  get remaining(): number {
    return this.#steps.length - this.#next
  }

  /**
   * A real client of the `openai` package that speaks with the script.
   *
   * @throws HookspanError `MISSING_DEPENDENCY` when the package is not installed.
   */
  client<C = { chat: { completions: Creates }; responses: Creates }>(): Promise<C> {
    this.#client ??= importOpenAI().then(
      (OpenAI) => new OpenAI(this.clientOptions) as never,
      (error: HookspanError) => {
        this.#missing = error
        throw error
      },
    )
    return this.#client as Promise<C>
  }

  /** The same script on a free loopback port, for clients in other processes. */
  async listen(): Promise<ScriptedServer> {
    const server = await startScriptedServer({
      respond: (request) => this.#respond(request),
      latencyMs: this.#latencyMs,
    })
    this.#servers.push(server)
    return server
  }

  /**
   * @throws HookspanError `SCRIPT_NOT_FOLLOWED` when a request was unexpected or a step was not asked for, naming each;
   * `MISSING_DEPENDENCY` when that is because the `openai` package is not there to ask.
   */
  assertDone(): void {
    this.#told = true
    if (this.#missing !== undefined) throw this.#missing
    const lines = [...this.fetch.unexpected, ...this.#servers.flatMap(({ unexpected }) => unexpected)]
    for (const [index, step] of this.#steps.entries()) {
      if (index >= this.#next) lines.push(`steps[${index}] was never asked for: ${describeStep(step)}`)
    }
    if (lines.length === 0) return
    throw new HookspanError(
      'SCRIPT_NOT_FOLLOWED',
      `The model's script was not followed:\n- ${lines.join('\n- ')}`,
    )
  }

  /** @throws as {@link assertDone}, unless that was called before. */
  [Symbol.dispose](): void {
    if (!this.#told) this.assertDone()
  }

  async #respond(request: ScriptedRequest): Promise<ScriptedStep | undefined> {
    const index = this.#next
    const step = this.#steps[index]
    if (step === undefined) {
      throw new HookspanError(
        'SCRIPT_NOT_FOLLOWED',
        this.#steps.length === 0
          ? 'the script has no steps'
          : `all ${this.#steps.length} steps are used. Add a step, or find why one more call is made`,
      )
    }
    this.#next++
    if (typeof step === 'function') return toStep(await step(request))
    if (typeof step === 'string' || !('expects' in step)) return toStep(step)
    const { expects, ...answer } = step
    const problems = compareRequest(expects, request)
    if (problems.length > 0) {
      throw new HookspanError(
        'SCRIPT_NOT_FOLLOWED',
        `steps[${index}] expects another request: ${problems.join('; ')}`,
      )
    }
    return answer
  }
}

function toStep(step: string | ScriptedStep): ScriptedStep {
  return typeof step === 'string' ? { content: step } : step
}

/** A misspelt step fails where it is written: the script itself checks it. */
const MODEL_STEP: Fields<ScriptedStep & { expects?: ExpectedRequest }> = { ...STEP, expects: a.object }
const EXPECTS: Fields<ExpectedRequest> = { model: a.value, lastMessage: a.value, body: a.object }

function checkEagerly(step: ModelStep, where: string): void {
  if (typeof step === 'function' || typeof step === 'string') return
  if (typeof step !== 'object' || step === null) {
    throw expected('a step of scriptedModel() to be a text, an object or a function', step)
  }
  checkFields(step, MODEL_STEP, where)
  const { expects, ...plain } = step as ScriptedStep & { expects?: unknown }
  if (expects !== undefined) assertFields<ExpectedRequest>(expects, EXPECTS, '`expects` of a step')
  scriptedFetch({ steps: [plain] })
}

function compareRequest({ model, lastMessage, body }: ExpectedRequest, request: ScriptedRequest): string[] {
  const last = request.messages.at(-1) as { content?: unknown } | undefined
  const found = [
    ...(model === undefined ? [] : differences(model, request.body.model, 'exact', ['model'])),
    ...(lastMessage === undefined ? [] : differences(lastMessage, last?.content, 'partial', ['lastMessage'])),
    ...(body === undefined ? [] : differences(body, request.body, 'partial', ['body'])),
  ]
  return found.map((difference) => formatDifference(difference, 'request'))
}

function describeStep(step: ModelStep): string {
  if (typeof step === 'function') return `function ${step.name}`.trim()
  const text = JSON.stringify(step)
  return text.length > 160 ? `${text.slice(0, 160)}…` : text
}

async function importOpenAI(): Promise<new (options: ScriptedClientOptions) => unknown> {
  try {
    const { default: OpenAI } = (await import('openai')) as unknown as {
      default: new (options: ScriptedClientOptions) => unknown
    }
    return OpenAI
  } catch (error) {
    throw new HookspanError(
      'MISSING_DEPENDENCY',
      'scriptedModel() speaks through the openai package, which is not installed. Run: npm install openai',
      { cause: error },
    )
  }
}
