import type { StandInCall } from '../dispatcher/index.ts'
import { errorMessage, HookspanError } from '../internal/errors.ts'
import { checkSchema, formatProblems } from '../internal/schema/check-schema.ts'
import { oneLine } from '../internal/short-text.ts'
import type { MockToolsCall, MockToolsOptions } from './mock-tools-types.ts'
import type { Answer } from './rules/answer.ts'
import { describeCall } from './rules/explain.ts'
import type { ActiveRule, RuleSet } from './rules/rule-set.ts'
import type { ToolCatalog } from './tool-catalog.ts'

/** A call that an SDK failed itself, before any mock was asked, and why; with the rule that is for it. */
export interface UnaskedCall extends Omit<MockToolsCall, 'answeredBy'> {
  readonly why: string
}

const FAILED_OR_LIVE: ReadonlySet<string | undefined> = new Set<Answer['kind']>([
  'failure',
  'error',
  'timeout',
  'hang',
  'live',
])

/** Whether it says what a tool gave. */
export function saysResult({ definition }: ActiveRule): boolean {
  return !FAILED_OR_LIVE.has(definition.answer?.kind)
}

/** Of a tool that there is not, or with arguments that the SDK does not take, the model is told without anybody being asked. */
export class UnaskedCalls {
  readonly #rules: RuleSet
  readonly #catalog: ToolCatalog
  readonly #isChecked: boolean
  readonly #all: UnaskedCall[] = []

  constructor(rules: RuleSet, catalog: ToolCatalog, { schemas }: MockToolsOptions) {
    this.#rules = rules
    this.#catalog = catalog
    this.#isChecked = schemas !== 'off'
  }

  get all(): readonly UnaskedCall[] {
    return this.#all
  }

  /** What is wrong with the test: its rule says what the tool gave, and it gives nothing. */
  note(call: StandInCall, error: unknown): HookspanError | undefined {
    const { apiName, identifier, args, toolCallId, agentPath, operation, stepIndex } = call
    const { operationId } = operation
    const rule = this.#ruleFor(call)
    const why = oneLine(errorMessage(error), 300)
    const made = { apiName, identifier, args, toolCallId, agentPath, operationId, stepIndex, why }
    this.#all.push({ ...made, ...(rule !== undefined && { rule: String(rule) }) })
    // Of tools that there are not, the rules for them are told of at the end.
    if (rule === undefined || !saysResult(rule) || this.#catalog.isMadeUp(made)) return undefined
    if (!this.#isChecked) return undefined
    const problems = this.#problemsOf(call)
    const what = problems === '' ? 'failed before a mock was asked' : "breaks the tool's input schema"
    const lines = [`  called   ${describeCall(call)}`, `  rule     ${rule}`, problems || `  because  ${why}`]
    return new HookspanError('MOCK_ARGUMENTS', `A call of "${apiName}" ${what}.\n${lines.join('\n')}`, {
      cause: error,
    })
  }

  /** The one that would have answered, or is for the tool at least. */
  #ruleFor(call: StandInCall): ActiveRule | undefined {
    const ofTool = this.#rules.forTool(call)[0]
    try {
      return this.#rules.find(call)?.rule ?? ofTool
    } catch {
      return ofTool
    }
  }

  #problemsOf({ apiName, args, inputSchema, operation }: StandInCall): string {
    const schema = inputSchema ?? this.#catalog.inputSchema(operation.operationId, apiName)
    try {
      const problems = schema === undefined ? [] : checkSchema(schema, args)
      return Array.isArray(problems) ? formatProblems(problems, '  args') : ''
    } catch {
      // The SDK has said what is wrong.
      return ''
    }
  }
}
