package farm

import "math"

// Unusable counts the backends of a group that cannot be used, by priority. It
// decides the group's level: the priority up to which backends are in service.
// The zero value has none.
type Unusable [math.MaxUint8 + 1]int

// Level is the level of a service of an http farm: it starts at 1 and grows by
// one for each unusable backend it has reached.
func (u *Unusable) Level() int {
	level := 1
	for priority := 1; priority <= level && priority < len(u); priority++ {
		level += u[priority]
	}
	return level
}

// LevelL4 is the level of an l4xnat farm: it starts at 1 and grows by the number
// of unusable backends of exactly its priority until there are none (contract of
// the L4 core). Two of priority 1 open level 3, and what is of priority 2 and
// unusable then counts no more.
func (u *Unusable) LevelL4() int {
	level := 1
	for level < len(u) && u[level] > 0 {
		level += u[level]
	}
	return level
}
