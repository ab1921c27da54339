/** `mcp__server__tool` is the tool of that server; all else is Claude Code's own. */
export function namedIn(toolName: string): { apiName: string; identifier: string; source: 'mcp' | 'local' } {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(toolName) ?? []
  return server === undefined || tool === undefined
    ? { apiName: toolName, identifier: 'claude-code', source: 'local' }
    : { apiName: tool, identifier: server, source: 'mcp' }
}
