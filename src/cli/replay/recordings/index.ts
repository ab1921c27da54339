export { countRuns, type RecordingCounts } from './counts.ts'
export { detectFormat } from './detect.ts'
export { parseRecordings, type ReadOptions, readRecordings, restoreMessages } from './parse.ts'
export { RecordingError, type RecordingPlace } from './recording-error.ts'
export type {
  RecordedAssistantTurn,
  RecordedCall,
  RecordedCodeCalls,
  RecordedItem,
  RecordedOrigin,
  RecordedOutcome,
  RecordedRun,
  RecordedSystemMessage,
  RecordedToolResult,
  RecordedUsage,
  RecordedUserMessage,
  RecordingFormat,
} from './types.ts'
