// Reads what is required as Yarn's Plug'n'Play does: the text, and no word of what it is. What is imported goes its own way.
import Module from 'node:module'

let required = false
Module.registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    if (required || !url.endsWith('/node_modules/ai/dist/index.js')) return loaded
    required = true
    return { ...loaded, format: undefined }
  },
})
