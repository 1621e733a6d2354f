// Package farm defines the configuration as plain data: a list of farms, which have
// services, which have backends, and the settings of the machine.
//
// The store keeps these values, snapshots contain them, and engines compile their tables
// from them. They do not depend on networks, storage or protocols. They are not checked
// here: the rules are in mgmt/validate, and an engine that loads a snapshot checks its
// assumptions again.
//
// Numbers named ID are stable. The store assigns them once; they survive reloads, renames
// and reordering, and are never positions in a list. All state outside the configuration
// (health, counters, sessions, connections) is keyed by them. A published value is
// read-only.
package farm
