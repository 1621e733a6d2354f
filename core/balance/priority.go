package balance

// level walks the members by rising priority: it starts at 1, stops at the
// first member above, and rises by 1 for each unusable one. Members whose
// priority is at most the result receive traffic.
func level(byPriority []uint16, priority func(i uint16) int, usable []bool) int {
	level := 1
	for _, i := range byPriority {
		if priority(i) > level {
			break
		}
		if !usable[i] {
			level++
		}
	}
	return level
}
