// Package farm holds the nouns of the house as plain data: a configuration is
// a list of farms, a farm has services, a service has backends; beside them stand
// the settings of the machine.
//
// The values are what the store keeps, what a snapshot carries and what every
// engine compiles its tables from. They know no network, no storage and no
// protocol, and they check nothing: the rules live in mgmt/validate, and an
// engine that loads a snapshot checks again what it depends on.
//
// Numbers called ID are stable: they are given once by the store, survive
// reloads, renames and reordering, and are never the position in a list. All
// state outside the configuration (health, counters, sessions, connections)
// is keyed by them. A value is read-only once it was published.
package farm
