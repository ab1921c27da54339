import { render } from 'preact'
import { App, applyTheme } from './app.tsx'
import { SourceContext } from './hooks.ts'
import { openSource } from './open-source.ts'
import { setOfflineTraceId } from './route.ts'

applyTheme()
const source = openSource()
if (source.traceId) setOfflineTraceId(source.traceId)
render(
  <SourceContext.Provider value={source}>
    <App />
  </SourceContext.Provider>,
  document.getElementById('app')!,
)
