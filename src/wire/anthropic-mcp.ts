import type { HostedTool } from './format.ts'
import { asList, asName, asObject, type Loose } from './reading.ts'

/**
 * The tools that Anthropic runs on an MCP server: those that the request names, in the server's set (`mcp_toolset`) or in the
 * server itself, and `*` where there may be others.
 */
export function toolsOfServer(
  { name, tool_configuration: older }: Loose,
  tools: readonly Loose[],
): HostedTool[] {
  const set = tools.find(({ type, mcp_server_name: of }) => type === 'mcp_toolset' && of === name) ?? {}
  const byDefault = asObject(set.default_config)?.enabled
  const configs = asObject(set.configs) ?? {}
  const isOn = (tool: string) => (asObject(configs[tool])?.enabled ?? byDefault) !== false
  const allowed = asList(asObject(older)?.allowed_tools)
  const listed = asList(set.tools).map((tool) => asObject(tool)?.name)
  const known = [...Object.keys(configs), ...listed, ...allowed]
    .flatMap((tool) => asName(tool) ?? [])
    .filter(isOn)
  const isOpen = byDefault !== false && !Array.isArray(set.tools) && allowed.length === 0
  const identifier = asName(name) ?? 'anthropic'
  return [...new Set([...known, ...(isOpen ? ['*'] : [])])].map((tool) => ({ name: tool, identifier }))
}
