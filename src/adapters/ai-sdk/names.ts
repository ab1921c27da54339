/** What of the `ai` package begins a run, or calls a model by itself. Loaded where the package itself is not. */
export const AI_SDK_NAMES = [
  'generateText',
  'streamText',
  'experimental_streamTextLowMemory',
  'generateObject',
  'streamObject',
  'embed',
  'embedMany',
  'rerank',
  'ToolLoopAgent',
  'Experimental_Agent',
] as const
