package farm

// What the API calls a backend: a number that stays with the backend for as long
// as it exists, and that no other backend of its group gets, ever: who wrote it
// down and comes back later does not hit another one. The first is 0. (The
// contract has positions in services, and the next free number in l4xnat farms:
// a delete gave a number to another backend there.) Slots hold these numbers.

// Number is what the backend at that position is called. While two have the same
// slot, Numbers tells.
func (g Group) Number(position int) int {
	list := g.Backends()
	switch {
	case position >= len(list):
		return position + g.first()
	case list[position].Slot != 0:
		return int(list[position].Slot) - 1 + g.first()
	}
	return g.Numbers()[position]
}

// Position is where the backend of that number is, -1 when there is none.
func (g Group) Position(number int) int {
	slots, _ := g.slots()
	for i, slot := range slots {
		if int(slot)-1+g.first() == number {
			return i
		}
	}
	return -1
}

// first is what the first backend of a group is called.
func (g Group) first() int {
	if g.Farm != nil && g.Farm.Global != nil {
		return FirstDNSBackend
	}
	return 0
}

// Numbers is what each backend is called, by position.
func (g Group) Numbers() []int {
	slots, _ := g.slots()
	out := make([]int, len(slots))
	for i, slot := range slots {
		out[i] = int(slot) - 1 + g.first()
	}
	return out
}

// GiveNumbers gives the backends that have no number the next ones; of two that
// have the same, the second counts as having none.
func (g Group) GiveNumbers() {
	list := g.Backends()
	if list == nil {
		return
	}
	slots, last := g.slots()
	for i, slot := range slots { // what has its number is not written: others may read it
		if list[i].Slot != slot {
			list[i].Slot = slot
		}
	}
	if at := g.LastSlotAt(); *at != last {
		*at = last
	}
}

// Numbered reports whether everything in a farm has its number: backends (GiveNumbers),
// zones and records (Follow).
func (f *Farm) Numbered() bool {
	for _, g := range f.Groups() {
		slots, last := g.slots()
		for i := range slots {
			if g.Backends()[i].Slot != slots[i] {
				return false
			}
		}
		if slots != nil && *g.LastSlotAt() != last {
			return false
		}
	}
	zones := f.Zones()
	return zones == nil || zones.numbered()
}

// slots are those the backends have or would be given, and the last one that was
// given to any.
func (g Group) slots() (slots []uint32, last uint32) {
	list := g.Backends()
	if list == nil {
		return nil, 0
	}
	slots, last = make([]uint32, len(list)), *g.LastSlotAt()
	taken := make(map[uint32]bool, len(list))
	for i := range list {
		if slot := list[i].Slot; slot != 0 && !taken[slot] {
			slots[i], taken[slot], last = slot, true, max(last, slot)
		}
	}
	for i := range slots {
		if slots[i] == 0 {
			last++
			slots[i] = last
		}
	}
	return slots, last
}

// LastSlotAt is where the group keeps the last slot it gave.
func (g Group) LastSlotAt() *uint32 { return g.of.lastSlot() }

// Add puts a new backend at the end of the list and tells where that is.
func (g Group) Add(b Backend) (position int) {
	g.GiveNumbers()
	b.Slot = 0
	list := append(g.Backends(), b)
	at := len(list) - 1
	for ; at > 0 && list[at-1].Of != 0; at-- {
		list[at-1], list[at] = list[at], list[at-1] // those made of names come last
	}
	g.SetBackends(list)
	g.GiveNumbers()
	return at
}
