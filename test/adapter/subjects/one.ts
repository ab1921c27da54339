import type { ContractSubject } from 'hookspan/adapter/contract'

const LOADED: Readonly<Record<string, () => Promise<ContractSubject>>> = {
  execAgent: async () => (await import('./exec-agent.ts')).execAgentSubject,
  observeOpenAI: async () => (await import('./own-loop.ts')).ownLoopSubject,
  'ai-sdk': async () => (await import('./ai-sdk.ts')).aiSdkSubject,
  'openai-agents': async () => (await import('./openai-agents.ts')).openaiAgentsSubject,
  langchain: async () => (await import('./langchain.ts')).langchainSubject,
}

/** One of those of index.ts, for a process of its own: without the SDKs of all others, which take seconds to load. */
export async function oneSubject(name: string): Promise<ContractSubject> {
  const load = LOADED[name]
  if (load === undefined) throw new Error(`no subject ${name}`)
  return load()
}
