// Package state holds what outlives the tables an engine compiles, by stable
// number: loads and turns of backends, sessions, what was used up of limits, the
// slots of clients, the queues of exchanges, the budgets of retries.
package state
