// Package cases is the table of what the bench measures: the load, the rules
// the contestants are configured with, and the figure each ratio must reach.
package cases
