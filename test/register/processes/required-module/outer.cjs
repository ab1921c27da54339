require('./inner.mjs')
