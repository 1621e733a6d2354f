package farm

// The API identifies a backend by a number that stays the same as long as the backend exists.
// The group never assigns it again, so an old number always refers to the same backend. The first
// is 0. (The contract uses positions in services, and the next free number in l4xnat farms,
// where a delete could reassign a number.) Slots hold these numbers.

// Number returns the number of the backend at that position. If two have the same slot, use
// Numbers.
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

// Position returns the position of the backend with that number, or -1.
func (g Group) Position(number int) int {
	slots, _ := g.slots()
	for i, slot := range slots {
		if int(slot)-1+g.first() == number {
			return i
		}
	}
	return -1
}

// first returns the number of the first backend of a group.
func (g Group) first() int {
	if g.Farm != nil && g.Farm.Global != nil {
		return FirstDNSBackend
	}
	return 0
}

// Numbers returns the number of each backend, by position.
func (g Group) Numbers() []int {
	slots, _ := g.slots()
	out := make([]int, len(slots))
	for i, slot := range slots {
		out[i] = int(slot) - 1 + g.first()
	}
	return out
}

// GiveNumbers assigns the next numbers to backends without one. If two have the same
// number, the second gets a new one.
func (g Group) GiveNumbers() {
	list := g.Backends()
	if list == nil {
		return
	}
	slots, last := g.slots()
	for i, slot := range slots { // existing numbers are not written: others may read them
		if list[i].Slot != slot {
			list[i].Slot = slot
		}
	}
	if at := g.LastSlotAt(); *at != last {
		*at = last
	}
}

// Numbered reports whether everything in a farm has a number: backends (GiveNumbers), zones
// and records (Follow).
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

// slots returns the current or next slots of the backends, and the last assigned one.
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

// LastSlotAt returns a pointer to the last slot the group assigned.
func (g Group) LastSlotAt() *uint32 { return g.of.lastSlot() }

// Add appends a new backend and returns its position.
func (g Group) Add(b Backend) (position int) {
	g.GiveNumbers()
	b.Slot = 0
	list := append(g.Backends(), b)
	at := len(list) - 1
	for ; at > 0 && list[at-1].Of != 0; at-- {
		list[at-1], list[at] = list[at], list[at-1] // backends made from names stay last
	}
	g.SetBackends(list)
	g.GiveNumbers()
	return at
}
