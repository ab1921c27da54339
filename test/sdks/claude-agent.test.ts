import { adapterContract } from 'hookspan/adapter/contract'
import { describe, it } from 'vitest'
import { claudeAgentSubject } from './subjects/claude-agent.ts'
import { elsewhere } from './support/elsewhere.ts'

describe('the contract holds for claude-agent', () => {
  for (const { name, run } of adapterContract({
    ...claudeAgentSubject,
    elsewhere: elsewhere('claude-agent'),
  }))
    it(name, run)
})
