import { defined, isRecord } from '../../internal/objects.ts'
import type { MastraRun } from './mastra-run.ts'
import type { MastraTool, MastraToolOptions, MastraTools } from './sdk.ts'
import { isObserved, noteServers, observeTool } from './tools.ts'
import { tellWords } from './words.ts'

/** By it Mastra knows a tool as its author wrote it, which the loop makes its own. */
const AUTHORED = Symbol.for('mastra.core.tool.Tool')

/**
 * The tools of a step, where an input processor or `prepareStep` has brought some along, or put some in the place of the
 * agent's: each of their calls is the run's. Undefined where there are none.
 */
export function observeBrought(run: MastraRun, tools: unknown): MastraTools | undefined {
  if (!isRecord(tools)) return undefined
  const given = tools as MastraTools
  const brought = Object.entries(given).filter(
    ([, tool]) => typeof tool?.execute === 'function' && !isObserved(tool),
  )
  if (brought.length === 0) return undefined
  noteServers(run, Object.fromEntries(brought))
  const observed = brought.map(([name, tool]) => {
    run.tools.add(name)
    return [name, AUTHORED in tool ? authored(run, name, tool) : observeTool(run, name, tool)]
  })
  return { ...given, ...Object.fromEntries(observed) }
}

/** What an author's tool is called with: what the loop says lies below. */
interface Context {
  readonly abortSignal?: AbortSignal
  readonly agent?: MastraToolOptions
}

function authored(run: MastraRun, name: string, tool: MastraTool): MastraTool {
  const { id, description, inputSchema, execute } = tool
  const toModelOutput = tool.toModelOutput?.bind(tool)
  const observed = (input: unknown, context: Context = {}) => {
    const { abortSignal, agent } = context
    const body = (args: unknown, { suspend }: MastraToolOptions = {}) => {
      const asked = { ...context, ...(agent && { agent: { ...agent, ...(suspend && { suspend }) } }) }
      return execute?.call(tool, args, asked as MastraToolOptions)
    }
    const own = { id, description, inputSchema, execute: body, ...defined({ toModelOutput }) }
    const inLoop = observeTool(run, name, own)
    return inLoop.execute?.(input, { ...agent, ...(abortSignal && { abortSignal }) })
  }
  const shell: MastraTool = Object.assign(Object.create(tool), { execute: observed })
  tellWords(shell)
  return shell
}
