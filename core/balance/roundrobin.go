package balance

// maxDraws bounds the turns one Pick draws from the rotation before it looks
// at every member. Members that cannot be taken are drawn and passed over, so
// the others keep their exact shares; past 32 the next free one in line will do.
const maxDraws = 32

// roundRobin takes turns on a schedule shared by all loops: of every
// len(schedule) picks, wherever they happen, each member gets its weight.
func (p *Picker) roundRobin(t *table, tried Tried) (int, bool) {
	if len(t.eligible) == 1 { // no turns to take: leave the shared counter alone
		i := int(t.eligible[0])
		return i, p.take(i, tried)
	}
	i := t.turns.next(p.state)
	// What take does for most members, without the call.
	if m := &p.members[i]; !m.counted && tried == (Tried{}) && m.slot.Usable() {
		return i, true
	}
	return p.roundRobinSlow(t, i, tried)
}

func (p *Picker) roundRobinSlow(t *table, drawn int, tried Tried) (int, bool) {
	if p.take(drawn, tried) {
		return drawn, true
	}
	if !p.anyFree(t, tried) {
		return 0, false
	}
	for range maxDraws {
		if i := t.turns.next(p.state); p.take(i, tried) {
			return i, true
		}
	}
	for _, i := range t.eligible {
		if p.take(int(i), tried) {
			return int(i), true
		}
	}
	return 0, false
}

// anyFree spares the rotation the draws of a service whose members are all
// full or tried.
func (p *Picker) anyFree(t *table, tried Tried) bool {
	for _, i := range t.eligible {
		if p.free(int(i), tried) {
			return true
		}
	}
	return false
}
