export type { RunStatus, RunSummary, SpanCategory, SpanRecord, SpanRow } from './model/span.ts'
export { startViewer, type Viewer, type ViewerOptions } from './server.ts'
export type { RunList, SearchHit } from './store/reader.ts'
export type { Store } from './store/store.ts'
