// Package state holds state that outlives an engine's tables, by stable number: loads and
// rotations of backends, sessions, rate limit counts, client slots, exchange queues and
// retry budgets.
package state
