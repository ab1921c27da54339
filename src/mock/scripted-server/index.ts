export { ScriptError } from './script-error.ts'
export { type ScriptedFetch, scriptedFetch } from './scripted-fetch.ts'
export { type ScriptedServer, startScriptedServer } from './scripted-server.ts'
export type {
  Respond,
  RespondInfo,
  ScriptedError,
  ScriptedReply,
  ScriptedRequest,
  ScriptedStep,
  ScriptedToolCall,
  ScriptedUsage,
  ScriptOptions,
  ScriptReport,
} from './types.ts'
