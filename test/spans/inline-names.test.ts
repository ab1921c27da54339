import { describe, expect, it } from 'vitest'
import { withNames } from '../../scripts/inline-names.ts'

describe('what the build writes for the names of attributes', () => {
  it('is the name, as a key and as a value', () => {
    expect(withNames('const a = { [GEN_AI.toolName]: b }; a[HOOKSPAN.callKey] = OTEL.errorType')).toBe(
      "const a = { 'gen_ai.tool.name': b }; a['hookspan.call.key'] = 'error.type'",
    )
  })

  it('is nothing for a name that there is not', () => {
    expect(() => withNames('GEN_AI.tolName')).toThrow('There is no name GEN_AI.tolName')
  })
})
