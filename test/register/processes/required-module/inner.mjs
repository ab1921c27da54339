import './leaf.cjs'
