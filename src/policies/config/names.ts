/** What a config file may be called. */
export const CONFIG_NAMES: readonly string[] = ['ts', 'mts', 'js', 'mjs', 'json', 'yaml', 'yml', 'toml'].map(
  (ext) => `hookspan.config.${ext}`,
)
