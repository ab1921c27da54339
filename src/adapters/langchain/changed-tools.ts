import { HookspanError } from '../../internal/errors.ts'
import { asName, asObject, type Loose } from '../../wire/reading.ts'
import { sameJson } from '../../wire/rewrite.ts'
import type { LcTool } from './lang-chain.ts'

/**
 * The tools that gates left the model. LangChain takes tools away from a call, and refuses others in their place.
 *
 * @param told what the gates were told of each of them.
 * @throws HookspanError `NOT_CAPABLE` for one that is not among them.
 */
export function toolsDecided(
  tools: readonly LcTool[],
  told: readonly Loose[],
  decided: readonly Loose[],
): readonly LcTool[] {
  const unknown = decided.find((one) => !told.some((own) => sameJson(own, one)))
  if (unknown === undefined) return tools.filter((_, at) => decided.some((one) => sameJson(one, told[at])))
  const name = asName(asObject(unknown.function)?.name) ?? asName(unknown.type) ?? 'unnamed'
  throw new HookspanError(
    'NOT_CAPABLE',
    `A beforeLlmCall gate changed or added the tool "${name}", and LangChain offers a model what its agent has. ` +
      'Take tools away there, and change them at the agent.',
  )
}
