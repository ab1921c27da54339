import { describe, expect, it } from 'vitest'
import { docsPage, markdownTable } from '../support/docs-page.ts'
import { tellAlike } from './comparison/alike.ts'
import { KNOWN } from './comparison/known.ts'
import { ASIDE } from './comparison/normal-form.ts'
import { execAgentSubject } from './subjects/exec-agent.ts'
import { SUBJECTS } from './subjects/index.ts'

tellAlike(SUBJECTS.filter((subject) => subject !== execAgentSubject))

describe('docs/adapters/compared.md', () => {
  const page = docsPage('adapters/compared.md')
  const code = (names: readonly string[]) => [...new Set(names)].map((name) => `\`${name}\``).join(', ')

  it('says what is aside when SDKs are compared', () => {
    const rows = ASIDE.map(({ what, why, attributes }) => [what, code(attributes), why])
    expect(page).toContain(markdownTable(['aside', 'attributes', 'why'], rows))
  })

  it('says how the SDKs differ, and why', () => {
    const rows = KNOWN.map(({ of, where, when, why }) => [
      code(of.map((name) => name.replace(/ of version \d$/, ''))),
      code(where.map((one) => one.replace(/^\w+ (?=gen_ai|hookspan)/, ''))),
      when ?? 'all',
      why,
    ])
    expect(page).toContain(markdownTable(['on', 'differs in', 'where it', 'because'], rows))
  })
})
