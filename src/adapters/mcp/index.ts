export { MCP_CAPABILITIES } from './capabilities.ts'
export { type ObserveMcpClientOptions, observeMcpClient, unobserveMcpClient } from './observe-mcp-client.ts'
export { type ObserveMcpServerOptions, observeMcpServer, unobserveMcpServer } from './observe-mcp-server.ts'
