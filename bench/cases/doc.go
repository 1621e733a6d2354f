// Package cases defines the measurements of the bench: the load, the rules of the
// contestants, and the target of each ratio.
package cases
