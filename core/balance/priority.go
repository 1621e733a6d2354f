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

// levelL4 is the rule of l4xnat farms: the unusable members of exactly the
// level's priority are counted and added to it, until there are none. Two of
// priority 1 open level 3.
func levelL4(byPriority []uint16, priority func(i uint16) int, usable []bool) int {
	level := 1
	for at := 0; ; {
		unusable := 0
		for ; at < len(byPriority) && priority(byPriority[at]) <= level; at++ {
			if i := byPriority[at]; !usable[i] && priority(i) == level {
				unusable++
			}
		}
		if unusable == 0 {
			return level
		}
		level += unusable
	}
}

// first takes the first member by priority that can be taken.
func (p *Picker) first(t *table, tried Tried) (int, bool) {
	for _, i := range p.order {
		if t.inLevel[i] && p.take(int(i), tried) {
			return int(i), true
		}
	}
	return 0, false
}

// Beyond picks the first usable member by priority above the level, and reserves
// it as Pick does: for who was refused by those within, though they are not down.
func (p *Picker) Beyond(tried Tried) (index int, ok bool) {
	t := p.refresh()
	for _, i := range p.order {
		if !t.inLevel[i] && t.usable[i] && p.take(int(i), tried) {
			return int(i), true
		}
	}
	return 0, false
}
