// The second part of a run that was parked, in a process that knows nothing of the first but its JSON.
import { type ContractSubject, resumeElsewhere } from 'hookspan/adapter/contract'

/** Each with its own SDK alone: they are slow to load. */
const SUBJECTS: Readonly<Record<string, () => Promise<ContractSubject>>> = {
  'claude-agent': async () => (await import('../subjects/claude-agent.ts')).claudeAgentSubject,
  copilot: async () => (await import('../subjects/copilot.ts')).copilotSubject,
  mastra: async () => (await import('../subjects/mastra.ts')).mastraSubject,
  strands: async () => (await import('../subjects/strands.ts')).strandsSubject,
  'strands 1.16': async () => (await import('../subjects/strands.ts')).oldestStrandsSubject,
}

const subject = await SUBJECTS[process.argv[2] ?? '']?.()
if (subject === undefined) throw new Error(`no subject ${process.argv[2]}`)
let saved = ''
for await (const chunk of process.stdin) saved += chunk
process.stdout.write(await resumeElsewhere(subject, saved))
